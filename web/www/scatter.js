// The fourth tab: a scatter that accumulates, of clicks on a board, or of the colours of x.

import { PageScatter, Updates } from './pkg/wgslice_web.js';
import { devices } from './devices.js';
import { shownAs, source } from './source.js';
import { chips, Operation, reported } from './tab.js';

const [ROWS, COLUMNS] = [8, 8];
const CHANNELS = ['red', 'green', 'blue'];

const EXAMPLES = [
  ['clicks that add up', '2, 3 twice', { of: 'board', combine: 'add', onto: 'zeros', updates: '2, 3\n2, 3\n2, 4\n5, 1: 10\n5, 1: -3\n8, 0' }],
  ['the last one wins', 'update', { of: 'board', combine: 'update', onto: 'numbers', updates: '1, 1: 500\n1, 1: 600\n6, 4: 700' }],
  ['maxima', 'max', { of: 'board', combine: 'max', onto: 'numbers', updates: '0, 0: 5\n0, 0: 3\n7, 7: 5\n3, 3: 99' }],
  ['the colours of x', 'red ↓ green →', { of: 'rg' }],
  ['red and blue', 'red ↓ blue →', { of: 'rb' }],
];

const pair = (of) => [...of].map((letter) => CHANNELS.findIndex((name) => name.startsWith(letter)));

// The work is kept until the state or x changes, so that only the scatter itself is timed.
let kept = { key: null, works: new Map() };

function input(device, state) {
  const { of, onto, updates } = state;
  const key = of === 'board' ? JSON.stringify([onto, updates]) : of;
  if (kept.key !== key || kept.x !== source.shown) kept = { key, x: source.shown, works: new Map() };
  if (!kept.works.has(device)) {
    kept.works.set(device, of === 'board'
      ? PageScatter.board(device, new Updates(updates), ROWS, COLUMNS, onto === 'numbers')
      : PageScatter.colours(device, new Uint8Array(source.shown.image.data.buffer), ...pair(of)));
  }
  return kept.works.get(device);
}

const updatesOf = (text) => {
  const { indices, values } = new Updates(text);
  return Array.from(values, (value, at) => ({ row: indices[2 * at], column: indices[2 * at + 1], value }));
};

function board({ state, left, outcome, shown }) {
  const updates = updatesOf(state.updates);
  const inside = ({ row, column }) => row >= 0 && row < ROWS && column >= 0 && column < COLUMNS;
  const at = ({ row, column }) => ({ top: row, left: column, height: 1, width: 1 });
  return {
    label: `${updates.length} updates, combined by ${state.combine}`,
    report: reported(outcome, 'updates'),
    marks: { boxes: updates.filter(inside).map(at), texts: left.texts },
    onResult: { boxes: updates.filter(inside).map(at), texts: shown.texts },
    origin([row, column]) {
      const here = updates.filter((update) => update.row === row && update.column === column).map(({ value }) => value);
      const text = here.length ? `${here.length === 1 ? 'One update' : `${here.length} updates`}: ${here.join(', ')}` : 'No update';
      return { marks: { at: { row, column } }, text: `result[${row}, ${column}] = ${shown.texts[row * COLUMNS + column]}. ${text}.` };
    },
  };
}

function colours({ state, left, outcome, read }) {
  const [down, right] = pair(state.of);
  const { data } = left.image;
  return {
    label: `how often each ${CHANNELS[down]} (down) meets each ${CHANNELS[right]} (right)`,
    report: {
      bad: 0,
      text: `${outcome.tuples.toLocaleString('en')} pixels of x, each adding 1. The fullest of 65,536 cells has ${read.range()[1].toLocaleString('en')}.`,
    },
    marks: {},
    onResult: {},
    origin([row, column]) {
      const mask = new Uint8Array(data.length / 4);
      let count = 0;
      for (let pixel = 0; pixel < mask.length; pixel++) {
        const is = data[4 * pixel + down] === row && data[4 * pixel + right] === column;
        mask[pixel] = is ? 1 : 0;
        count += mask[pixel];
      }
      const text = `result[${row}, ${column}] = ${count}: so many pixels of x have ${CHANNELS[down]} ${row} and ${CHANNELS[right]} ${column}`;
      return { marks: { lit: { mask } }, text };
    },
  };
}

function programs({ state }) {
  const { of, combine, onto } = state;
  if (of !== 'board') {
    const [down, right] = pair(of);
    return {
      rust: `use wgslice::{Backend, options::ScatterOptions};\n\n// Each pixel's ${CHANNELS[down]} and ${CHANNELS[right]}, as i32, and a 1 for each\nlet (y, _) = Backend::auto().scatter_nd(\n    &[256, 256],\n    (&pairs, &[ones.len(), 2]),\n    (&ones, &[ones.len()]),\n    ScatterOptions::default(),\n)?;`,
      numpy: `y = np.zeros((256, 256), np.int32)\nnp.add.at(y, (x[..., ${down}], x[..., ${right}]), 1)`,
      tensorflow: `pairs = tf.stack([x[..., ${down}], x[..., ${right}]], -1)\ny = tf.scatter_nd(tf.cast(pairs, tf.int32), tf.ones(x.shape[:2], tf.int32), [256, 256])`,
      command: 'wgslice scatter-nd pairs.npy ones.npy -o counts.npy --shape 256,256',
    };
  }
  const updates = updatesOf(state.updates);
  const tuples = `[${updates.map(({ row, column }) => `[${row}, ${column}]`).join(', ')}]`;
  const values = `[${updates.map(({ value }) => value).join(', ')}]`;
  const start = onto === 'zeros' ? 'np.zeros((8, 8), np.int32)' : '10 * np.arange(8, dtype=np.int32)[:, None] + np.arange(8, dtype=np.int32)';
  const name = `${combine[0].toUpperCase()}${combine.slice(1)}`;
  const ufunc = { add: 'add', sub: 'subtract', min: 'minimum', max: 'maximum' }[combine];
  const kept = 'i, v = i[((i >= 0) & (i < 8)).all(-1)], v[((i >= 0) & (i < 8)).all(-1)]';
  return {
    rust: `use wgslice::{Backend, options::{Combine, ScatterOptions}};\n\nlet indices: [i32; ${2 * updates.length}] = [${updates.map(({ row, column }) => `${row}, ${column}`).join(', ')}];\nlet values: [i32; ${updates.length}] = ${values};\nlet options = ScatterOptions { combine: Some(Combine::${name}), ..Default::default() };\nlet (y, report) = Backend::auto().tensor_scatter_nd(\n    (&x, &[8, 8]),\n    (&indices, &[${updates.length}, 2]),\n    (&values, &[${updates.length}]),\n    options,\n)?;`,
    numpy: `y = ${start}\ni, v = np.array(${tuples}), np.array(${values}, np.int32)\n${kept}\n${ufunc ? `np.${ufunc}.at(y, tuple(i.T), v)` : 'y[tuple(i.T)] = v'}`,
    tensorflow: `y = tf.tensor_scatter_nd_${combine}(x, ${tuples}, ${values}${updates.every(({ row, column }) => row >= 0 && row < ROWS && column >= 0 && column < COLUMNS) ? '' : ', bad_indices_policy="IGNORE"'})`,
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
  run: (work, { combine, of }) => work.run(of === 'board' ? combine : 'add'),
  // The counts of colours differ by orders of magnitude, and most are small.
  range: (read, { of }) => (of === 'board' ? read.range() : [0, Math.max(1, read.range()[1] / 40)]),
  look: (seen) => (seen.state.of === 'board' ? board(seen) : colours(seen)),
  // Each cell that is clicked on, or that a drag goes through, is one more update.
  drag(from, to, state, ended) {
    const cell = `${to.row}, ${to.column}`;
    const same = this.cell === cell;
    this.cell = ended ? null : cell;
    if (state.of !== 'board' || ended || same) return null;
    return { updates: `${state.updates.trim()}\n${cell}`.trim() };
  },
  programs,
  connect: (operation) => chips(operation, EXAMPLES),
});
