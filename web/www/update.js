// The fifth tab: writes a value to the elements of a board or of x that an index expression selects.

import { PageArray, UpdateValue } from './pkg/wgslice_web.js';
import { devices } from './devices.js';
import { columnAxis, elementOf, pixelOf, spanned } from './selection.js';
import { file, output, rustShape } from './snippets.js';
import { shownAs, source } from './source.js';
import { chips, Operation } from './tab.js';

const BOARD_SHAPE = [8, 8];
const EXAMPLES = [
  ['rows and a column', '[1, 5], 2: += 100', { of: 'board', spec: '[1, 5], 2:', combine: 'add', value: '100' }],
  ['a cell three times', '[3, 3, 3], [4, 4, 4]', { of: 'board', spec: '[3, 3, 3], [4, 4, 4]', combine: 'add', value: '[1, 10, 100]' }],
  ['the last one wins', '[0, 0], 1: = …', { of: 'board', spec: '[0, 0], 1:', combine: 'update', value: '[[7], [-7]]' }],
  ['a mask of the columns', ':, [True, …]', { of: 'board', spec: ':, [True, False, True, False, False, False, True, True]', combine: 'max', value: '40' }],
  ['rows of the photograph', '[100, 101, …], :, 0', { of: 'x', spec: '[100, 101, 102, 200, 201, 202], :, 0', combine: 'update', value: '255' }],
  ['a red face', '40:280, 110:390, 1: = 0', { of: 'x', spec: '40:280, 110:390, 1:', combine: 'update', value: '0' }],
];

const boards = new Map();

function board(device) {
  if (!boards.has(device)) boards.set(device, PageArray.table(device, ...BOARD_SHAPE));
  return boards.get(device);
}

const arrayOf = (device, { of }) => (of === 'board' ? board(device) : source.on(device));

const UFUNCS = { add: 'add', sub: 'subtract', mul: 'multiply', min: 'minimum', max: 'maximum' };
const BOARD_PROGRAM = '10 * np.arange(8, dtype=np.int32)[:, None] + np.arange(8, dtype=np.int32)';
const capitalized = (word) => `${word[0].toUpperCase()}${word.slice(1)}`;

function programs({ state: { of, spec, combine, value }, left, shown }) {
  const expression = spec.trim() || '...';
  const ufunc = UFUNCS[combine];
  const { numbers, shape } = new UpdateValue(value);
  const numpyUpdate = ufunc ? `np.${ufunc}.at(y, np.s_[${expression}], v)` : `y[${expression}] = v`;
  const numpy = `y, v = x.copy(), np.array(${value}, x.dtype)\n${numpyUpdate}`;
  const scattered = `i = tf.reshape(tf.range(tf.size(x)), x.shape).numpy()[${expression}]  # the positions
v = tf.broadcast_to(tf.constant(${value}, x.dtype), i.shape)
y = tf.tensor_scatter_nd_${combine}(tf.reshape(x, [-1]), i.reshape(-1, 1), tf.reshape(v, [-1]))
y = tf.reshape(y, x.shape)`;
  return {
    rust: `use wgslice::{Backend, options::Combine};

let y = Backend::auto().index_update(
    (&x, ${rustShape(left.shape)}),
    &"${spec.trim()}".parse()?,
    (&[${numbers}], ${rustShape([...shape])}),
    Combine::${capitalized(combine)},
)?;`,
    numpy: `${of === 'board' ? `x = ${BOARD_PROGRAM}\n` : ''}${numpy}`,
    tensorflow: combine === 'mul' ? `x = x.numpy()  # TensorFlow has no tensor_scatter_nd_mul\n${numpy}` : scattered,
    command: `wgslice index-update ${of === 'board' ? 'board.npy' : file(source.name)} '${spec.trim()}' '${value}' \\
    -o ${output(shown)}${ufunc ? ` --combine ${combine}` : ''}`,
  };
}

export const update = new Operation({
  name: 'update',
  defaults: { ...EXAMPLES[0][2] },
  input: arrayOf,
  async left(state) {
    if (state.of !== 'board') return source.shown;
    const read = await board(devices.all.at(-1).device).read();
    return shownAs(read, read.range());
  },
  run: (x, { spec, combine, value }) => x.update(spec, combine, new UpdateValue(value)),
  range: (read, { of }) => (of === 'board' ? read.range() : null),
  look({ state, left, input, shown }) {
    const mask = input.touched(state.spec, left.channels);
    const count = mask.reduce((sum, flag) => sum + flag, 0);
    const verb = state.of === 'board' ? 'selects' : 'selects elements in';
    const things = state.of === 'board' ? 'cells' : 'pixels';
    return {
      label: `x[${state.spec}] is changed`,
      report: { bad: 0, text: `x[${state.spec}] ${verb} ${count.toLocaleString('en')} of ${mask.length.toLocaleString('en')} ${things}.` },
      marks: left.image ? { lit: { mask }, texts: left.texts } : {},
      onResult: { texts: shown.texts },
      origin(index) {
        const place = pixelOf(index, left);
        const at = place.row * left.width + place.column;
        const oldValue = left.texts ? `; it was ${left.texts[at]}` : '';
        const newValue = shown.texts ? ` = ${shown.texts[at]}${oldValue}` : '';
        return { marks: { at: place }, text: `result[${index.join(', ')}]${newValue}. ${mask[at] ? 'Selected' : 'Not selected'}.` };
      },
    };
  },
  // A click writes the position of a cell into the expression; a drag writes a range for each dimension.
  drag(from, to, { of }) {
    const x = of === 'board' ? { shape: BOARD_SHAPE, width: BOARD_SHAPE[1], height: BOARD_SHAPE[0], channels: 1 } : source.shown;
    const isClick = from.row === to.row && from.column === to.column;
    return { spec: isClick ? elementOf(to, x).slice(0, columnAxis(x) + 1).join(', ') : spanned(from, to, x) };
  },
  programs,
  connect: (operation) => chips(operation, EXAMPLES),
});
