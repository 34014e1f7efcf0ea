// The first tab: a slice of x, which a person types or drags on x.

import { spelled } from './pkg/wgslice_web.js';
import { columnAxis, origin, pixelOf, selected, spanned, stepOf, stepped } from './selection.js';
import { file, output, rustShape } from './snippets.js';
import { source } from './source.js';
import { connectSteps } from './steps.js';
import { chips, Operation } from './tab.js';

const $ = (id) => document.getElementById(id);

const EXAMPLES = [
  ['the face, flipped', '32:288, 400:100:-1', ''],
  ['upside down', '::-1', ''],
  ['every 8th pixel', '::8, ::8', ''],
  ['red only', '..., 0', ''],
  ['a quarter turn', '::-1', '1, 0, 2'],
  ['planes', '::2, ::2', '2, 0, 1'],
  ['a new axis', '100:300, None, 150:350', ''],
];

const MASKS = ['begin_mask', 'end_mask', 'ellipsis_mask', 'new_axis_mask', 'shrink_axis_mask'];
const binary = (mask, entries) => `0b${(mask >>> 0).toString(2).padStart(entries, '0')}`;

function showMasks(encoded) {
  const rows = ['begin', 'end', 'strides'].map((name) => [name, encoded[name]]);
  for (const name of MASKS) {
    const mask = encoded[name];
    rows.push([name, mask ? `${binary(mask, encoded.entries)} = ${mask >>> 0}` : '0']);
  }
  $('masks').tBodies[0].replaceChildren(
    ...rows.map(([name, value]) => {
      const row = document.createElement('tr');
      const head = row.appendChild(document.createElement('th'));
      head.scope = 'row';
      head.textContent = name;
      const cell = row.insertCell();
      cell.textContent = value;
      cell.dataset.mask = name;
      return row;
    }),
  );
}

// Returns the order of dimensions in a text as numbers, or null if the text has none.
const axisOrder = (order) => order.match(/\d+/g)?.map(Number) ?? null;

function programs({ state, left, shown }) {
  const { python, rust, begin, end, strides, ...spec } = fields(spelled(state.spec));
  const order = axisOrder(state.order)?.join(', ');
  const names = ['Ellipsis', 'NewAxis'].filter((name) => rust.includes(name));
  const imports = ['Backend', ...(names.length ? [`spec::{${names.join(', ')}}`] : []), 'slice'].join(', ');
  const x = `(&x, ${rustShape(left.shape)})`;
  const maskArguments = MASKS.filter((name) => spec[name]).map((name) => `,\n    ${name}=${spec[name]}`).join('');
  const sliced = python || '...';
  const [from, to] = [file(source.name), output(shown)];
  return {
    rust: order
      ? `use wgslice::{${imports}};\n\nlet x = Backend::auto().upload(${x})?;\nlet y = x\n    .slice(&slice![${rust}])?\n    .transpose(&[${order}])?\n    .contiguous()?;`
      : `use wgslice::{${imports}};\n\nlet y = Backend::auto().slice(\n    ${x},\n    &slice![${rust}],\n)?;`,
    numpy: `y = x[${sliced}]${order ? `.transpose(${order})` : ''}`,
    // TensorFlow treats empty lists as lists of floats.
    tensorflow: `${begin === '[]' ? 'y = tf.identity(x)' : `y = tf.strided_slice(\n    x, ${begin}, ${end}, ${strides}${maskArguments})`}${order ? `\ny = tf.transpose(y, [${order}])` : ''}`,
    command: order
      ? `wgslice slice ${from} '${sliced}' -o - --format npy | wgslice transpose - ${order.replaceAll(' ', '')} -o ${to.replace('png', 'npy')}`
      : `wgslice slice ${from} '${sliced}' -o ${to}`,
  };
}

// The fields to copy from an object of the library. They are getters of its prototype, and `...` does not copy those.
const FIELDS = ['python', 'rust', 'entries', 'begin', 'end', 'strides', ...MASKS];
const fields = (object) => Object.fromEntries(FIELDS.map((name) => [name, object[name]]));

// Returns the handles that change the steps along the rows and along the columns. `box` is the box around the selected
// pixels of x; without a box there are no handles.
function handles(spec, x, box) {
  if (!box) return [];
  const rank = x.shape.length;
  const column = columnAxis(x);
  const handle = (name, axis) => {
    const step = axis < 0 ? null : stepOf(spec, axis, rank);
    return step === null ? [] : [{ name, axis, step, maxStep: x.shape[axis], box }];
  };
  return [...handle('rows', column - 1), ...handle('columns', column)];
}

export const slice = new Operation({
  name: 'slice',
  defaults: { spec: EXAMPLES[0][1], order: '' },
  run: (x, { spec, order }) => x.slice(spec, order),
  film: (canvas, x, { spec, order }) => canvas.slice(x, spec, order),
  look({ state, left, input, shown }) {
    const selection = input.selection(state.spec, state.order);
    const { offset, strides } = selection;
    const { box, ...lit } = selected(selection, left);
    showMasks(spelled(state.spec));
    $('explained').textContent = input.explain(state.spec, state.order);
    return {
      label: `x[${state.spec}]`,
      steps: handles(state.spec, left, box),
      marks: { lit, boxes: box ? [box] : [], texts: left.texts },
      onResult: { texts: shown.texts },
      origin(index) {
        const from = origin(index, { offset, strides }, left);
        const { row, column } = pixelOf(from, left);
        return { marks: { at: { row, column } }, text: `result[${index.join(', ')}] = x[${from.join(', ')}]` };
      },
    };
  },
  drag: (from, to) => ({ spec: spanned(from, to, source.shown), order: '' }),
  programs,
  connect(operation) {
    connectSteps((axis, step) => operation.set({ spec: stepped(operation.state.spec, axis, source.shown.shape.length, step) }));
    chips(operation, EXAMPLES.map(([name, spec, order]) => [name, order ? `${spec} → ${order}` : spec, { spec, order }]));
  },
});
