// Opens the devices and x, and connects the tabs. Each tab is in its own file.

import init from './pkg/wgslice_web.js';
import { parameters } from './address.js';
import { devices, openCpu, openGpu } from './devices.js';
import { connectCamera, connectInputs } from './inputs.js';
import * as pair from './pair.js';
import { connectSnippets, connectTabs, copy } from './snippets.js';
import { source } from './source.js';
import { slice } from './slice.js';
import { gather } from './gather.js';
import { crop } from './crop.js';
import { scatter } from './scatter.js';
import { update as indexUpdate } from './update.js';
import { mask } from './mask.js';
import * as verify from './verify.js';

const $ = (id) => document.getElementById(id);
const operations = { slice, gather, crop, scatter, update: indexUpdate, mask };
const TABS = [...Object.keys(operations), 'verify'];

let openTab = 'slice';
let isReady = false;

// Reports a fault of the page itself, such as a panic. An error in the input is shown next to the field.
function showStopped(reason) {
  $('stopped').textContent = `The page has stopped: ${reason}\nReload it. The browser’s console has details.`;
  $('stopped').hidden = false;
}
addEventListener('error', (event) => event.message && showStopped(event.message));
addEventListener('unhandledrejection', (event) => showStopped(event.reason?.message ?? event.reason));

const update = () => operations[openTab]?.update();

function show(name) {
  openTab = name;
  for (const other of TABS) {
    const tab = $(`tab-${other}`);
    tab.setAttribute('aria-selected', String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    $(other).hidden = other !== name;
  }
  $(`tab-${name}`).scrollIntoView({ block: 'nearest', inline: 'nearest' });
  $('pair').hidden = !operations[name];
  $('encoding').hidden = name !== 'slice';
  $('source-hint').textContent = $(name).dataset.hint ?? '';
  if (operations[name]) $(name).append($('pair'));
  pair.error(null);
  if (!isReady) return;
  if (operations[name]) update();
  else if (document.body.dataset.ready) verify.opened();
}

async function start() {
  const first = TABS.includes(parameters.get('tab')) ? parameters.get('tab') : 'slice';
  connectTabs(TABS.map((name) => $(`tab-${name}`)), (at) => show(TABS[at]));
  show(first);
  // Until the inputs are connected, only the tabs can be used.
  const panels = document.querySelectorAll('main > [role=tabpanel]');
  for (const panel of panels) panel.inert = true;
  const picture = source.open('astronaut.webp');
  await init({ module_or_path: new URL('pkg/wgslice_web_bg.wasm', import.meta.url) });
  openCpu();
  await picture;

  connectInputs();
  connectSnippets();
  connectCamera(() => operations[openTab], update, () => devices.chosen.label);
  pair.connectPair((...args) => operations[openTab]?.drag(...args));
  pair.connectSaving(() => operations[openTab].result());
  $('link').addEventListener('click', () => copy(operations[openTab]?.link() ?? verify.link(), $('link')));
  for (const [name, operation] of Object.entries(operations)) operation.connect(name === first);
  verify.connect(first === 'verify');
  source.addEventListener('change', update);
  for (const panel of panels) panel.inert = false;
  isReady = true;
  // The CPU shows the first result while the GPU is being opened.
  update();
  await openGpu();
  connectDevices();
  document.body.dataset.ready = 'yes';
  show(openTab);
}

function connectDevices() {
  $('advice').hidden = !devices.whyNoWebGpu;
  $('advice-why').textContent = devices.whyNoWebGpu ?? '';
  const choice = $('device');
  choice.replaceChildren(...devices.all.map(({ label }, at) => new Option(label, at)));
  choice.disabled = false;
  const updateLight = () => { $('device-light').className = `light ${devices.chosen.name === 'WebGPU' ? 'gpu' : 'cpu'}`; };
  updateLight();
  choice.addEventListener('change', () => {
    devices.chosen = devices.all[choice.value];
    updateLight();
    update();
  });
}

start().catch((error) => showStopped(error.message));
