// The fourth tab: a scatter that accumulates clicks on a board, or the colours of x.

import { PageScatter, Updates } from './pkg/wgslice_web.js';
import { devices } from './devices.js';
import { shownAs, source } from './source.js';
import { chips, Operation, reported } from './tab.js';

const [ROWS, COLUMNS] = [8, 8];
const CHANNELS = ['red', 'green', 'blue'];

const onBoard = (combine, onto, updates) => ({ of: 'board', combine, onto, updates });
const EXAMPLES = [
  ['clicks that add up', '2, 3 twice', onBoard('add', 'zeros', '2, 3\n2, 3\n2, 4\n5, 1: 10\n5, 1: -3\n8, 0')],
  ['the last one wins', 'update', onBoard('update', 'numbers', '1, 1: 500\n1, 1: 600\n6, 4: 700')],
  ['maxima', 'max', onBoard('max', 'numbers', '0, 0: 5\n0, 0: 3\n7, 7: 5\n3, 3: 99')],
  ['the colours of x', 'red ↓ green →', { of: 'rg' }],
  ['red and blue', 'red ↓ blue →', { of: 'rb' }],
];

const channelPair = (of) => [...of].map((letter) => CHANNELS.findIndex((name) => name.startsWith(letter)));

// The uploaded arrays of each device are kept until the state or x changes, so that only the scatter itself is timed.
let uploaded = { key: null, scatters: new Map() };

function input(device, state) {
  const { of, onto, updates } = state;
  const key = of === 'board' ? JSON.stringify([onto, updates]) : of;
  if (uploaded.key !== key || uploaded.x !== source.shown) uploaded = { key, x: source.shown, scatters: new Map() };
  if (!uploaded.scatters.has(device)) {
    uploaded.scatters.set(device, of === 'board'
      ? PageScatter.board(device, new Updates(updates), ROWS, COLUMNS, onto === 'numbers')
      : PageScatter.colours(device, new Uint8Array(source.shown.image.data.buffer), ...channelPair(of)));
  }
  return uploaded.scatters.get(device);
}

const updatesOf = (text) => {
  const { indices, values } = new Updates(text);
  return Array.from(values, (value, at) => ({ row: indices[2 * at], column: indices[2 * at + 1], value }));
};

function board({ state, left, outcome, shown }) {
  const updates = updatesOf(state.updates);
  const boxOf = ({ row, column }) => ({ top: row, left: column, height: 1, width: 1 });
  return {
    label: `${updates.length} updates, combined by ${state.combine}`,
    report: reported(outcome, 'updates'),
    marks: { boxes: updates.filter(isInside).map(boxOf), texts: left.texts },
    onResult: { boxes: updates.filter(isInside).map(boxOf), texts: shown.texts },
    origin([row, column]) {
      const cellUpdates = updates.filter((update) => update.row === row && update.column === column);
      const values = cellUpdates.map(({ value }) => value).join(', ');
      const updatesText = cellUpdates.length ? `Updates: ${values}` : 'No update';
      const text = `result[${row}, ${column}] = ${shown.texts[row * COLUMNS + column]}. ${updatesText}.`;
      return { marks: { at: { row, column } }, text };
    },
  };
}

function colours({ state, left, outcome, read }) {
  const [down, right] = channelPair(state.of);
  const { data } = left.image;
  return {
    label: `how many pixels have each ${CHANNELS[down]} (down) and ${CHANNELS[right]} (right)`,
    report: {
      bad: 0,
      text: `${outcome.tuples.toLocaleString('en')} pixels of x, each adding 1. The fullest of 65,536 cells has ${read.range()[1].toLocaleString('en')}.`,
    },
    hint: 'Point on the result to see the pixels of x that a cell counts.',
    marks: {},
    onResult: {},
    origin([row, column]) {
      const mask = new Uint8Array(data.length / 4);
      let count = 0;
      for (let pixel = 0; pixel < mask.length; pixel++) {
        const isCounted = data[4 * pixel + down] === row && data[4 * pixel + right] === column;
        mask[pixel] = isCounted ? 1 : 0;
        count += mask[pixel];
      }
      const text = `result[${row}, ${column}] = ${count}: the number of pixels of x with ${CHANNELS[down]} ${row} and ${CHANNELS[right]} ${column}`;
      return { marks: { lit: { mask } }, text };
    },
  };
}

const isInside = ({ row, column }) => row >= 0 && row < ROWS && column >= 0 && column < COLUMNS;

function colourPrograms(of) {
  const [down, right] = channelPair(of);
  return {
    rust: `use wgslice::{Backend, options::ScatterOptions};\n\n// Each pixel's ${CHANNELS[down]} and ${CHANNELS[right]}, as i32, and a 1 for each
let (y, _) = Backend::auto().scatter_nd(
    &[256, 256],
    (&pairs, &[ones.len(), 2]),
    (&ones, &[ones.len()]),
    ScatterOptions::default(),
)?;`,
    numpy: `y = np.zeros((256, 256), np.int32)
np.add.at(y, (x[..., ${down}], x[..., ${right}]), 1)`,
    tensorflow: `pairs = tf.stack([x[..., ${down}], x[..., ${right}]], -1)
y = tf.scatter_nd(tf.cast(pairs, tf.int32), tf.ones(x.shape[:2], tf.int32), [256, 256])`,
    command: 'wgslice scatter-nd pairs.npy ones.npy -o counts.npy --shape 256,256',
  };
}

const UFUNCS = { add: 'add', sub: 'subtract', min: 'minimum', max: 'maximum' };
const START_PROGRAMS = {
  zeros: 'np.zeros((8, 8), np.int32)',
  numbers: '10 * np.arange(8, dtype=np.int32)[:, None] + np.arange(8, dtype=np.int32)',
};

function programs({ state: { of, combine, onto, updates: text } }) {
  if (of !== 'board') return colourPrograms(of);
  const updates = updatesOf(text);
  const tuples = `[${updates.map(({ row, column }) => `[${row}, ${column}]`).join(', ')}]`;
  const flatIndices = updates.map(({ row, column }) => `${row}, ${column}`).join(', ');
  const values = `[${updates.map(({ value }) => value).join(', ')}]`;
  const count = updates.length;
  const numpyScatter = UFUNCS[combine] ? `np.${UFUNCS[combine]}.at(y, tuple(i[ok].T), v[ok])` : 'y[tuple(i[ok].T)] = v[ok]';
  const policy = updates.every(isInside) ? '' : ', bad_indices_policy="IGNORE"';
  return {
    rust: `use wgslice::{Backend, options::{Combine, ScatterOptions}};

let indices: [i32; ${2 * count}] = [${flatIndices}];
let values: [i32; ${count}] = ${values};
let combine = Some(Combine::${combine[0].toUpperCase()}${combine.slice(1)});
let (y, report) = Backend::auto().tensor_scatter_nd(
    (&x, &[8, 8]),
    (&indices, &[${count}, 2]),
    (&values, &[${count}]),
    ScatterOptions { combine, ..Default::default() },
)?;`,
    numpy: `y = ${START_PROGRAMS[onto]}
i, v = np.array(${tuples}), np.array(${values}, np.int32)
ok = ((i >= 0) & (i < 8)).all(-1)
${numpyScatter}`,
    tensorflow: `y = tf.tensor_scatter_nd_${combine}(x, ${tuples}, ${values}${policy})`,
    command: `wgslice scatter-nd '${tuples}' '${values}' -o result.npy --into board.npy --combine ${combine}`,
  };
}

export const scatter = new Operation({
  name: 'scatter',
  defaults: { ...EXAMPLES[0][2] },
  input,
  async left(state) {
    if (state.of !== 'board') {
      if (!source.shown.image || source.shown.channels < 3) throw new Error('x has no colours: open a picture');
      return source.shown;
    }
    const read = await input(devices.all.at(-1).device, state).before();
    return shownAs(read, read.range());
  },
  run: (pageScatter, { combine, of }) => pageScatter.run(of === 'board' ? combine : 'add'),
  // Most counts of colours are far below the maximum, so counts from a fortieth of the maximum have the brightest
  // shade.
  range: (read, { of }) => (of === 'board' ? read.range() : [0, Math.max(1, read.range()[1] / 40)]),
  look(seen) {
    const isBoard = seen.state.of === 'board';
    for (const id of ['combine', 'onto', 'updates']) document.getElementById(id).disabled = !isBoard;
    return isBoard ? board(seen) : colours(seen);
  },
  // A click, or each cell that a drag crosses, is one more update.
  drag(from, to, state, hasEnded) {
    const cell = `${to.row}, ${to.column}`;
    const isSameCell = this.cell === cell;
    this.cell = hasEnded ? null : cell;
    if (state.of !== 'board' || hasEnded || isSameCell) return null;
    return { updates: `${state.updates.trim()}\n${cell}`.trim() };
  },
  programs,
  connect: (operation) => chips(operation, EXAMPLES),
});
