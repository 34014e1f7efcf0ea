// The third tab: boxes of one size, cut out of x, each flipped or not.

import { Boxes } from './pkg/wgslice_web.js';
import { COLOURS, picturesPerRow, sheet, sideBySide } from './drawing.js';
import { pixelOf } from './selection.js';
import { file, rustShape } from './snippets.js';
import { source } from './source.js';
import { Operation, reported } from './tab.js';

const $ = (id) => document.getElementById(id);
const MAX_RANDOM_BOXES = 400;

// Returns the height and the width of the boxes, or null if one is not an integer of 1 to 4 digits.
function boxSize({ height, width }) {
  const size = [height, width].map((text) => (/^\s*\d{1,4}\s*$/.test(text) ? Number(text) : null));
  return size.includes(null) ? null : size;
}

function checkedSize(state) {
  const size = boxSize(state);
  if (!size) throw new Error('the height and the width of the boxes must be integers from 0 to 9999');
  return size;
}

// Returns the text of boxes at random positions within x. Each box is flipped in each direction with probability 1/2.
function randomBoxes(count, [height, width]) {
  const [rows, columns] = source.shown.shape;
  const randomUpTo = (max) => Math.floor(Math.random() * (Math.max(0, max) + 1));
  const randomFlip = (letter) => (Math.random() < 0.5 ? letter : '');
  const line = () => `${randomUpTo(rows - height)}, ${randomUpTo(columns - width)} ${randomFlip('v')}${randomFlip('h')}`.trim();
  return Array.from({ length: count }, line).join('\n');
}

// Returns the boxes as a list of `{ begin, flips }`.
const boxList = (boxes) => Array.from({ length: boxes.count }, (_, at) => ({
  begin: [...boxes.begins.slice(2 * at, 2 * at + 2)], flips: [...boxes.flips.slice(2 * at, 2 * at + 2)],
}));

function programs({ state, left }) {
  const boxes = boxList(new Boxes(state.boxes));
  const [height, width] = boxSize(state);
  const begins = `[${boxes.map(({ begin }) => `[${begin.join(', ')}]`).join(', ')}]`;
  const flips = `[${boxes.map((box) => `[${box.flips.join(', ')}]`).join(', ')}]`;
  const rustFlips = boxes.flatMap((box) => box.flips.map(Boolean)).join(', ');
  const commandFlips = boxes.map((box) => `[${box.flips.map(Boolean).join(', ')}]`).join(', ');
  const cut = `padded[t + ${height}:t + ${2 * height}, l + ${width}:l + ${2 * width}][::1 - 2 * v, ::1 - 2 * h]`;
  return {
    rust: `use wgslice::{Backend, options::{Boxes, CropOptions}};

let begins: [i32; ${2 * boxes.length}] = [${boxes.flatMap(({ begin }) => begin).join(', ')}];
let flips = [${rustFlips}];
let frames = [0i32; ${boxes.length}]; // all boxes are of one picture
let options = CropOptions { sizes: vec![${height}, ${width}], ..Default::default() };
let boxes = Boxes::new((&begins, ${rustShape([boxes.length, 2])}))
    .of_items((&frames, ${rustShape([boxes.length])}))
    .flipped((&flips, ${rustShape([boxes.length, 2])}));
let (y, report) = Backend::auto().crop((&x, ${rustShape([1, ...left.shape])}), boxes, &options)?;`,
    numpy: `begins = np.clip(${begins}, [-${height}, -${width}], x.shape[:2])
flips = ${flips}
padded = np.pad(x, [(${height}, ${height}), (${width}, ${width})] + [(0, 0)] * (x.ndim - 2))
y = np.stack([
    ${cut}
    for (t, l), (v, h) in zip(begins, flips)
])`,
    tensorflow: `begins = tf.clip_by_value(tf.constant(${begins}), [-${height}, -${width}], tf.shape(x)[:2])
flips = ${flips}
padded = tf.pad(x, [[${height}, ${height}], [${width}, ${width}]] + [[0, 0]] * (x.ndim - 2))
y = tf.stack([
    ${cut}
    for (t, l), (v, h) in zip(begins.numpy(), flips)
])`,
    command: `wgslice stack ${file(source.name)} -o - --format npy |
    wgslice crop - '${begins}' --size ${height},${width} \\
    --box-indices ${boxes.map(() => 0).join(',')} --flips '[${commandFlips}]' -o crops.npy`,
  };
}

export const crop = new Operation({
  name: 'crop',
  defaults: { boxes: '50, 160\n50, 160 h\n300, 60 v\n330, 330\n20, 20 vh\n440, 440', height: '128', width: '128' },
  run: (x, state) => x.crop(new Boxes(state.boxes), ...checkedSize(state)),
  film(canvas, x, state) {
    const [boxes, size] = [new Boxes(state.boxes), checkedSize(state)];
    return canvas.crop(x, boxes, ...size, picturesPerRow(boxes.count, size));
  },
  look({ state, left, outcome, shown }) {
    const boxes = boxList(new Boxes(state.boxes));
    const [height, width] = boxSize(state);
    const markedBoxes = boxes.map(({ begin: [top, edge], flips: [v, h] }, at) => ({
      top, left: edge, height, width, flips: { v, h }, colour: COLOURS[at % COLOURS.length], label: at,
    }));
    const image = left.shape.length < 4 && shown.image;
    // Without an outcome, the boxes were cut out of a camera frame that stays on the GPU, and are side by side already.
    const boxSheet = outcome ? image && sideBySide(image, boxes.length) : sheet(boxes.length, [height, width]);
    const onSheet = ({ colour, label }) => ({ ...boxSheet.box(label), colour, label });
    const onResult = boxSheet ? { boxes: markedBoxes.map(onSheet) } : {};
    return {
      label: `${boxes.length} boxes of ${height} × ${width}`,
      report: outcome && reported(outcome, 'boxes'),
      sheet: boxSheet || undefined,
      marks: { boxes: left.shape.length < 4 ? markedBoxes : [], texts: left.texts },
      onResult,
      origin([at, ...inside]) {
        const { begin, flips } = boxes[at];
        const size = [height, width];
        const from = inside.map((step, axis) => {
          if (axis > 1) return step;
          return begin[axis] + (flips[axis] ? size[axis] - 1 - step : step);
        });
        const name = `result[${[at, ...inside].join(', ')}]`;
        const isOutside = (position, axis) => position < 0 || position >= left.shape[axis];
        if (from.some(isOutside)) return { text: `${name} = 0, as it is outside of x` };
        return { marks: { at: pixelOf(from, left) }, text: `${name} = x[${from.join(', ')}]` };
      },
    };
  },
  // A click places a box with its centre at the pixel; a drag moves the box.
  drag(from, to, state, hasEnded) {
    const size = boxSize(state);
    if (!size) return null;
    const lines = state.boxes.split(/[\n;]/).filter((line) => line.trim());
    if (this.isDragging) lines.pop();
    this.isDragging = !hasEnded;
    const line = `${to.row - (size[0] >> 1)}, ${to.column - (size[1] >> 1)}`;
    return { boxes: [...lines, line].join('\n') };
  },
  programs,
  connect(operation) {
    const shuffle = () => {
      const size = boxSize(operation.state);
      const count = Math.min(MAX_RANDOM_BOXES, Math.max(1, Number($('crop-count').value) || 1));
      return size ? operation.set({ boxes: randomBoxes(count, size) }) : operation.update();
    };
    $('shuffle').addEventListener('click', shuffle);
    $('clear-boxes').addEventListener('click', () => operation.set({ boxes: '' }));
    const animate = async () => {
      if (!$('crop-moving').checked || operation.panel.hidden) return;
      await shuffle();
      requestAnimationFrame(animate);
    };
    $('crop-moving').addEventListener('change', animate);
  },
});
