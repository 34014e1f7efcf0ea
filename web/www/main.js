// Opens the devices, and connects the tabs. Each tab is a file of its own.

import init, { Device } from './pkg/wgslice_web.js';
import { picture } from './picture.js';
import * as slice from './slice.js';
import * as gather from './gather.js';
import * as verify from './verify.js';

const $ = (id) => document.getElementById(id);
const tabs = { slice, gather, verify };

// A fault of the page itself, such as a panic. An error in the input is shown beside the field.
function stopped(why) {
  $('stopped').textContent = `The page has stopped: ${why}\nReload it to go on. Its console says more.`;
  $('stopped').hidden = false;
}
window.addEventListener('error', (event) => stopped(event.message));
window.addEventListener('unhandledrejection', (event) => stopped(event.reason?.message ?? event.reason));

// Returns why the browser has no WebGPU, or null if it has; this needs no adapter yet.
function missing() {
  if (navigator.gpu) return null;
  if (!window.isSecureContext) return 'Browsers offer WebGPU only on https: and on localhost, and this address is neither.';
  return 'This browser offers no WebGPU.';
}

// The browser's description of the adapter, which says more than the library's name for it.
async function adapterName() {
  const info = (await navigator.gpu.requestAdapter())?.info;
  const words = info?.description || [info?.vendor, info?.architecture].filter(Boolean).join(' ');
  return words || 'adapter without a name';
}

async function openDevices() {
  const devices = [];
  let why = missing();
  if (!why) {
    try {
      const device = await Device.webgpu();
      devices.push({ device, label: `WebGPU · ${await adapterName()}` });
    } catch (error) {
      why = `WebGPU is there, but cannot be used: ${error.message}`;
    }
  }
  devices.push({ device: Device.cpu(), label: 'CPU · WebAssembly' });
  $('advice').hidden = !why;
  $('advice-why').textContent = why ?? '';
  return devices;
}

function showTab(name) {
  for (const other of Object.keys(tabs)) {
    const tab = $(`tab-${other}`);
    tab.setAttribute('aria-selected', String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    $(other).hidden = other !== name;
  }
}

function connectTabs() {
  const names = Object.keys(tabs);
  for (const [at, name] of names.entries()) {
    const tab = $(`tab-${name}`);
    tab.addEventListener('click', () => showTab(name));
    tab.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = names[(at + step + names.length) % names.length];
      showTab(next);
      $(`tab-${next}`).focus();
    });
  }
}

async function start() {
  connectTabs();
  const parameters = new URLSearchParams(location.search);
  if (parameters.get('tab') in tabs) showTab(parameters.get('tab'));
  await init({ module_or_path: new URL('pkg/wgslice_web_bg.wasm', import.meta.url) });
  const devices = await openDevices();
  const choice = $('device');
  choice.replaceChildren(...devices.map(({ label }, at) => new Option(label, at)));
  choice.disabled = false;
  const use = () => {
    const { device, label } = devices[choice.value];
    $('device-light').className = `light ${device.is_cpu ? 'cpu' : 'gpu'}`;
    for (const tab of Object.values(tabs)) tab.use(device, label);
  };
  choice.addEventListener('change', use);

  for (const tab of Object.values(tabs)) tab.connect(parameters);
  await picture.open('astronaut.png');
  use();
}

start().catch((error) => stopped(error.message));
