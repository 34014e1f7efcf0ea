// The second tab: gathers slices of x or of a table at the positions of index tuples.

import { PageArray } from './pkg/wgslice_web.js';
import { COLOURS } from './drawing.js';
import { devices } from './devices.js';
import { pixelOf } from './selection.js';
import { file, output, rustShape } from './snippets.js';
import { shownAs, source } from './source.js';
import { chips, Operation, reported } from './tab.js';

const EXAMPLES = [
  ['rows, some outside', '100, 120, … 600', { from: 'x', tuples: '100\n120\n140\n600\n160\n-1\n180\n200' }],
  ['pixels', '(100, 200), …', { from: 'x', tuples: '100, 200\n110, 210\n140, 512\n300, 300' }],
  ['beyond 32 bits', '2³² + 140', { from: 'x', tuples: '140\n4294967436\n-4294967156' }],
  ['rows of a table', '5, 0, 6, …', { from: 'table', tuples: '5\n0\n6\n-1\n2' }],
  ['values of a table', '(0, 0), …', { from: 'table', tuples: '0, 0\n5, 3\n5, 4\n2, 1' }],
];

const TABLE_SHAPE = [6, 4];
const tables = new Map();

function table(device) {
  if (!tables.has(device)) tables.set(device, PageArray.table(device, ...TABLE_SHAPE));
  return tables.get(device);
}

// Returns the index tuples in a text. The gather has already rejected texts in which an index is not an integer.
function typedTuples(text) {
  const integers = text.split(/[\n;]/).map((line) => line.match(/-?\d+/g));
  return integers.filter(Boolean).map((tuple) => tuple.map(BigInt));
}

// Returns the position that a tuple selects, or null if it is out of range.
function position(tuple, shape, { policy, wrap }) {
  const at = tuple.map((index, axis) => {
    const size = BigInt(shape[axis]);
    const fromStart = wrap && index < 0n ? index + size : index;
    if (fromStart >= 0n && fromStart < size) return Number(fromStart);
    if (policy !== 'clamp' || size === 0n) return null;
    return fromStart < 0n ? 0 : shape[axis] - 1;
  });
  return at.includes(null) ? null : at;
}

// Returns the box on the canvas of x that contains the slice of x at a position.
function boxOf(at, x) {
  const innerShape = x.shape.slice(at.length);
  const corners = [innerShape.map(() => 0), innerShape.map((size) => size - 1)];
  const [first, last] = corners.map((inner) => pixelOf([...at, ...inner], x));
  const rows = last.row - first.row + 1;
  const [left, width] = rows > 1 ? [0, x.width] : [first.column, last.column - first.column + 1];
  return { top: first.row, left, height: rows, width };
}

function programs({ state, left, shown }) {
  const tuples = typedTuples(state.tuples);
  const tupleList = `[${tuples.map((tuple) => `[${tuple.join(', ')}]`).join(', ')}]`;
  const depth = tuples[0].length;
  const sizes = `x.shape[:${depth}]`;
  const { policy, wrap } = state;
  const options = [
    ...(policy === 'ignore' ? [] : [`out_of_range: OutOfRange::${policy === 'clamp' ? 'Clamp' : 'Error'}`]),
    ...(wrap ? ['negative: NegativeIndex::Wrap'] : []),
  ];
  const imports = ['GatherNdOptions', ...(wrap ? ['NegativeIndex'] : []), ...(policy === 'ignore' ? [] : ['OutOfRange'])];
  const optionsStruct = options.length ? `GatherNdOptions { ${options.join(', ')}, ..Default::default() }` : 'GatherNdOptions::default()';
  const numpyWrap = wrap ? `\ni = np.where(i < 0, i + ${sizes}, i)` : '';
  const numpyGather = {
    ignore: `ok = ((i >= 0) & (i < ${sizes})).all(-1)
y = np.zeros((len(i), *x.shape[${depth}:]), x.dtype)
y[ok] = x[tuple(i[ok].T)]`,
    clamp: `i = np.clip(i, 0, np.array(${sizes}) - 1)\ny = x[tuple(i.T)]`,
    error: `assert ((i >= 0) & (i < ${sizes})).all()\ny = x[tuple(i.T)]`,
  }[policy];
  const flags = `${policy === 'ignore' ? '' : ` --out-of-range ${policy}`}${wrap ? ' --negative wrap' : ''}`;
  const tensorflowGather = {
    ignore: 'y = tf.gather_nd(x, i, bad_indices_policy="IGNORE")',
    clamp: `i = tf.clip_by_value(i, 0, tf.shape(x, tf.int64)[:${depth}] - 1)\ny = tf.gather_nd(x, i)`,
    error: 'y = tf.gather_nd(x, i, bad_indices_policy="ERROR")',
  }[policy];
  const tensorflowWrap = wrap ? `\ni = tf.where(i < 0, i + tf.shape(x, tf.int64)[:${depth}], i)` : '';
  return {
    rust: `use wgslice::{Backend, options::${imports.length > 1 ? `{${imports.join(', ')}}` : imports[0]}};

let indices: [i64; ${tuples.length * depth}] = [${tuples.flat().join(', ')}];
let (y, report) = Backend::auto().gather_nd(
    (&x, ${rustShape(left.shape)}),
    (&indices, ${rustShape([tuples.length, depth])}),
    ${optionsStruct},
)?;`,
    numpy: `i = np.array(${tupleList})${numpyWrap}\n${numpyGather}`,
    tensorflow: `i = tf.constant(${tupleList}, tf.int64)${tensorflowWrap}\n${tensorflowGather}`,
    command: `wgslice gather-nd ${state.from === 'table' ? 'table.npy' : file(source.name)} '${tupleList}' \\
    -o ${output(shown)}${flags}`,
  };
}

export const gather = new Operation({
  name: 'gather',
  defaults: { ...EXAMPLES[0][2], policy: 'ignore', wrap: false },
  params: ({ from }) => (from === 'table' ? 'the table' : 'x'),
  input: (device, { from }) => (from === 'table' ? table(device) : source.on(device)),
  async left({ from }) {
    if (from !== 'table') return source.shown;
    const read = await table(devices.all.at(-1).device).read();
    return shownAs(read, read.range());
  },
  run: (x, { tuples, policy, wrap }) => x.gather(tuples, policy, wrap),
  look({ state, left, outcome, shown }) {
    const places = typedTuples(state.tuples).map((tuple) => position(tuple, left.shape, state));
    const colourAndLabel = (at) => ({ colour: COLOURS[at % COLOURS.length], label: at });
    const boxes = places.flatMap((place, at) => (place ? [{ ...boxOf(place, left), ...colourAndLabel(at) }] : []));
    // The rows of the result, as boxes on its canvas.
    const rows = places.map((place, at) => ({ ...boxOf([at], shown), ...colourAndLabel(at), missing: !place }));
    return {
      label: `the elements at ${places.length} index tuples`,
      report: reported(outcome, 'tuples', state.policy === 'clamp'),
      stretched: shown.height <= 24,
      marks: { boxes, texts: left.texts },
      onResult: { boxes: rows, texts: shown.texts },
      origin(index) {
        const place = places[index[0]];
        const name = `result[${index.join(', ')}]`;
        if (!place) return { text: `${name} = 0, as tuple ${index[0]} is out of range` };
        const from = [...place, ...index.slice(1)];
        return { marks: { at: pixelOf(from, left) }, text: `${name} = x[${from.join(', ')}]` };
      },
    };
  },
  programs,
  connect: (operation) => chips(operation, EXAMPLES),
});
