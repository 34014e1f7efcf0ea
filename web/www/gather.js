// The second tab: slices of the picture or of a table at the positions of index tuples.

import { PageArray } from './pkg/wgslice_web.js';
import { latest } from './latest.js';
import { paint, picture, took, written } from './picture.js';

const $ = (id) => document.getElementById(id);

const EXAMPLES = [
  ['rows, some outside', 'picture', '100\n120\n140\n600\n160\n-1\n180\n200'],
  ['pixels', 'picture', '100, 200\n110, 210\n140, 512\n300, 300'],
  ['beyond 32 bits', 'picture', '140\n4294967436\n-4294967156'],
  ['rows of the table', 'table', '5\n0\n6\n-1\n2'],
  ['values of the table', 'table', '0, 0\n5, 3\n5, 4\n2, 1'],
];

const TABLE = [6, 4];
const MANY = 600;

let device = null;
let label = '';
let table = null;

// The index tuples as text, which also name the rows of the result.
const typed = () => $('tuples').value.split(/[\n;]/).map((line) => line.trim()).filter(Boolean);

function fill(element, shape, values, names) {
  const columns = shape.length > 1 ? shape[1] : 1;
  const rows = Array.from({ length: shape[0] }, (_, at) => {
    const row = document.createElement('tr');
    row.appendChild(document.createElement('th')).textContent = names(at);
    for (const value of values.slice(at * columns, (at + 1) * columns)) row.insertCell().textContent = value;
    return row;
  });
  element.replaceChildren(...rows);
}

function report(gathered, policy) {
  const { tuples, out_of_range: count } = gathered;
  const all = tuples === 1 ? 'The only tuple is' : `All ${tuples} tuples are`;
  let text = `${all} in range.`;
  if (policy === 'clamp' && !count) text = `${all} in range, after they were clamped.`;
  if (count) {
    const verb = count === 1 ? 'is' : 'are';
    text = `${count} of ${tuples} tuples ${verb} out of range. The first is tuple ${gathered.first}, counted from 0: `
      + `${gathered.first_indices}.`;
  }
  $('report').textContent = text;
  $('report').className = `report ${count ? 'some' : 'all'}`;
}

async function showTable(array, shown) {
  const isTable = $('params').value === 'table';
  $('tables').hidden = !isTable || shown.shape.length > 2;
  $('gathered-numbers').hidden = !$('tables').hidden || !$('gathered').hidden;
  $('gathered-numbers').textContent = shown.numbers(MANY);
  if ($('tables').hidden) return;
  const params = await array.read();
  fill($('params-table'), params.shape, params.integers(), (at) => at);
  const names = typed();
  fill($('gathered-table'), shown.shape, shown.integers(), (at) => names[at]);
}

const show = latest(async () => {
  const [tuples, from, policy, wrap] = [$('tuples').value, $('params').value, $('policy').value, $('wrap').checked];
  $('gather').dataset.state = 'busy';
  try {
    const array = from === 'table' ? (table ??= PageArray.table(device, ...TABLE)) : picture.on(device);
    const start = performance.now();
    const gathered = await array.gather(tuples, policy, wrap);
    const time = performance.now() - start;
    report(gathered, policy);
    const shown = gathered.take_result();
    paint($('gathered'), shown);
    // A result of few rows is stretched, so that each row is a visible band.
    if (!$('gathered').hidden) $('gathered').style.height = `${Math.min(420, Math.max(24, shown.height * 26))}px`;
    await showTable(array, shown);
    $('gather-shape').textContent = written(shown.shape, shown.dtype);
    $('gather-time').textContent = `in ${took(time)} on ${label}, and back from there`;
    $('gather-error').hidden = true;
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error;
    $('gather-error').textContent = error.message;
    $('gather-error').hidden = false;
    $('report').textContent = 'There is no result.';
    $('report').className = 'report';
    for (const part of ['gathered', 'tables', 'gathered-numbers']) $(part).hidden = true;
    $('gather-shape').textContent = '';
    $('gather-time').textContent = '';
  }
  Object.assign($('gather').dataset, { state: 'done', tuples, from, policy, wrap });
});

export function connect() {
  const choose = (from, tuples) => {
    $('params').value = from;
    $('tuples').value = tuples;
  };
  $('gather-examples').append(
    ...EXAMPLES.map(([name, from, tuples]) => {
      const chip = document.createElement('button');
      chip.textContent = name;
      chip.addEventListener('click', () => {
        choose(from, tuples);
        show();
      });
      return chip;
    }),
  );
  choose(EXAMPLES[0][1], EXAMPLES[0][2]);
  for (const input of ['params', 'policy', 'tuples', 'wrap']) $(input).addEventListener('input', () => show());
  document.addEventListener('picture', () => show());
}

export function use(newDevice, newLabel) {
  device = newDevice;
  label = newLabel;
  table = null;
  show();
}
