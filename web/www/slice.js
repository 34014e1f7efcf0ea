// The first tab: a slice of the picture as it is typed.

import { masks } from './pkg/wgslice_web.js';
import { latest } from './latest.js';
import { paint, picture, took, written } from './picture.js';

const $ = (id) => document.getElementById(id);

const EXAMPLES = [
  ['the face, flipped', '32:288:2, 400:100:-2', ''],
  ['upside down', '::-1', ''],
  ['every 8th pixel', '::8, ::8', ''],
  ['blue, green, red', '..., ::-1', ''],
  ['red only', '..., 0', ''],
  ['one line', '140', ''],
  ['the last 200 columns', ':, -200:', ''],
  ['a quarter turn', '::-1', '1, 0, 2'],
  ['planes', '::2, ::2', '2, 0, 1'],
  ['a new axis', '100:300, None, 150:350', ''],
  ['nothing', '5:2', ''],
];

// The most values that are shown beside a picture, and where there is no picture.
const [FEW, MANY] = [48, 600];

let device = null;
let label = '';
let chosen = { spec: '', order: '' };

function say(error) {
  $('slice-error').textContent = error ?? '';
  $('slice-error').hidden = error === null;
  $('spec').setAttribute('aria-invalid', String(error !== null));
}

const binary = (mask, entries) => `0b${(mask >>> 0).toString(2).padStart(entries, '0')}`;

const MASKS = ['begin_mask', 'end_mask', 'ellipsis_mask', 'new_axis_mask', 'shrink_axis_mask'];

function showMasks(encoded, order) {
  const rows = ['begin', 'end', 'strides'].map((name) => [name, encoded[name], false]);
  for (const name of MASKS) {
    const mask = encoded[name];
    rows.push([name, mask ? `${binary(mask, encoded.entries)} = ${mask >>> 0}` : '0', !mask]);
  }
  $('masks').tBodies[0].replaceChildren(
    ...rows.map(([name, value, off]) => {
      const row = document.createElement('tr');
      const head = document.createElement('th');
      head.scope = 'row';
      head.textContent = name;
      const cell = row.appendChild(head) && row.insertCell();
      cell.textContent = value;
      cell.dataset.mask = name;
      row.className = off ? 'off' : '';
      return row;
    }),
  );
  const set = MASKS.filter((name) => encoded[name]).map((name) => `,\n    ${name}=${encoded[name]}`);
  const { begin, end, strides } = encoded;
  const call = `y = tf.strided_slice(\n    x, ${begin}, ${end}, ${strides}${set.join('')})`;
  $('call').textContent = order ? `${call}\ny = tf.transpose(y, [${order}])` : call;
}

const show = latest(async () => {
  const [spec, order] = [$('spec').value, $('order').value.trim()];
  $('slice').dataset.state = 'busy';
  try {
    showMasks(masks(spec), order);
    const array = picture.on(device);
    $('source-shape').textContent = written(array.shape, 'uint8');
    const start = performance.now();
    const shown = await array.slice(spec, order);
    const time = performance.now() - start;
    paint($('result'), shown);
    const numbers = shown.numbers($('result').hidden ? MANY : FEW);
    const few = shown.shape.reduce((product, size) => product * size, 1) <= FEW;
    $('result-numbers').textContent = numbers;
    $('result-numbers').hidden = !$('result').hidden && !few;
    $('result-shape').textContent = written(shown.shape, shown.dtype);
    $('slice-time').textContent = `${took(time)} on ${label}, and back from there`;
    $('explained').textContent = array.explain(spec, order);
    say(null);
    chosen = { spec, order };
    address();
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error;
    say(error.message);
  }
  // The texts as typed in. If they are wrong, the page still shows the slice before.
  Object.assign($('slice').dataset, { state: 'done', spec, order });
  for (const chip of $('examples').children) {
    const same = chip.dataset.spec === spec && chip.dataset.order === order;
    chip.setAttribute('aria-pressed', String(same));
  }
});

// The address of the page names the slice, so that people can send it.
function address() {
  const to = new URL(location.href);
  for (const [name, value] of Object.entries(chosen)) {
    if (value) to.searchParams.set(name, value);
    else to.searchParams.delete(name);
  }
  if (to.href !== location.href) history.replaceState(null, '', to);
}

async function open(source) {
  try {
    const note = await picture.open(source);
    $('source-note').textContent = note || `${source.name}. It stays on this machine.`;
    show();
    document.dispatchEvent(new Event('picture'));
  } catch (error) {
    $('source-note').textContent = `${source.name} is no picture that this browser can read: ${error.message}`;
  }
}

export function connect(parameters) {
  $('spec').value = parameters.get('spec') ?? $('spec').value;
  $('order').value = parameters.get('order') ?? '';
  $('examples').append(
    ...EXAMPLES.map(([name, spec, order]) => {
      const chip = document.createElement('button');
      chip.textContent = name;
      chip.title = order ? `${spec}, then transposed to ${order}` : spec;
      Object.assign(chip.dataset, { spec, order });
      chip.addEventListener('click', () => {
        $('spec').value = spec;
        $('order').value = order;
        show();
      });
      return chip;
    }),
  );
  for (const input of [$('spec'), $('order')]) input.addEventListener('input', () => show());
  $('file').addEventListener('change', () => $('file').files.length && open($('file').files[0]));
  const drop = $('drop');
  const over = (is) => (event) => {
    event.preventDefault();
    drop.classList.toggle('dropping', is);
  };
  drop.addEventListener('dragover', over(true));
  drop.addEventListener('dragleave', over(false));
  drop.addEventListener('drop', (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length) open(event.dataTransfer.files[0]);
  });
}

export function use(newDevice, newLabel) {
  device = newDevice;
  label = newLabel;
  show();
}
