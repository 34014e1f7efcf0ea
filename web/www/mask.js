// The sixth tab: a mask that is painted on x with a brush.

import { wrapRow } from './drawing.js';
import { pixelOf } from './selection.js';
import { file, rustShape } from './snippets.js';
import { source } from './source.js';
import { Operation } from './tab.js';

const formatted = (number) => number.toLocaleString('en');

const $ = (id) => document.getElementById(id);

// Returns the mask of the pixels that strokes cover, in a picture of this size. A stroke is
// `radius: row,column row,column …`; a negative radius erases.
function maskOfStrokes(strokes, { width, height }) {
  const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  context.lineCap = context.lineJoin = 'round';
  for (const stroke of strokes.split(';').filter(Boolean)) {
    const [radius, ...points] = stroke.match(/-?\d+/g).map(Number);
    context.globalCompositeOperation = radius < 0 ? 'destination-out' : 'source-over';
    context.lineWidth = 2 * Math.abs(radius);
    context.beginPath();
    for (let at = 0; at + 1 < points.length; at += 2) context.lineTo(points[at + 1] + 0.5, points[at] + 0.5);
    // A line without length would not be drawn, so a single point becomes a short line.
    if (points.length === 2) context.lineTo(points[1] + 0.51, points[0] + 0.5);
    context.stroke();
  }
  const { data } = context.getImageData(0, 0, width, height);
  return Uint8Array.from({ length: width * height }, (_, at) => (data[4 * at + 3] > 127 ? 1 : 0));
}

// The mask for the current strokes and x. All devices and the marks share it.
let lastMask = { strokes: null };
function maskOf({ strokes }) {
  const x = source.shown;
  const [height, width = 1] = x.shape;
  if (lastMask.strokes !== strokes || lastMask.x !== x) lastMask = { strokes, x, mask: maskOfStrokes(strokes, { height, width }) };
  return lastMask.mask;
}

const programs = ({ state: { how }, left }) => {
  const [height, width] = left.shape;
  const hasChannels = left.shape.length > 2;
  const maskShape = left.shape.map((size, axis) => (axis < 2 ? size : 1));
  const x = `(&x, ${rustShape(left.shape)})`;
  const m = hasChannels ? 'mask[..., None]' : 'mask';
  const rust = {
    keep: `let y = backend.select((&mask, ${rustShape(maskShape)}), ${x}, (&[0], &[]))?;`,
    flip: `let flipped = backend.slice(${x}, &slice![.., ..; -1])?;\nlet y = backend.select((&mask, ${rustShape(maskShape)}), &flipped, ${x})?;`,
    list: `let y = backend.boolean_mask(${x}, (&mask, &[${height}, ${width}]), 0)?;`,
  };
  return {
    rust: `use wgslice::${how === 'flip' ? '{Backend, slice}' : 'Backend'};\n\nlet backend = Backend::auto(); // mask: [bool; ${height * width}]\n${rust[how]}`,
    numpy: { keep: `y = np.where(${m}, x, 0)`, flip: `y = np.where(${m}, x[:, ::-1], x)`, list: 'y = x[mask]' }[how],
    tensorflow: { keep: `y = tf.where(${m}, x, 0)`, flip: `y = tf.where(${m}, x[:, ::-1], x)`, list: 'y = tf.boolean_mask(x, mask)' }[how],
    command: {
      keep: `wgslice where mask.npy ${file(source.name)} 0 -o result.png`,
      flip: `wgslice slice ${file(source.name)} ':, ::-1' -o flipped.png\nwgslice where mask.npy flipped.png ${file(source.name)} -o result.png`,
      list: `wgslice boolean-mask ${file(source.name)} mask.npy -o result.npy`,
    }[how],
  };
};

export const mask = new Operation({
  name: 'mask',
  defaults: { strokes: '80:100,224 140,226', radius: '24', erase: false, how: 'keep' },
  run: (x, state) => x.masked(maskOf(state), state.how),
  look({ state, left, shown, read }) {
    const mask = maskOf(state);
    const count = mask.reduce((sum, flag) => sum + flag, 0);
    const [height, width] = left.shape;
    // The positions of the listed pixels in x, in row-major order.
    const pixels = state.how === 'list' ? Array.from(mask.keys()).filter((at) => mask[at]) : null;
    return {
      label: `the mask selects ${count} of ${height * width}`,
      report: { bad: 0, text: `The mask is true for ${formatted(count)} of ${formatted(height * width)} pixels.` },
      sheet: count && pixels && shown.channels > 1 ? wrapRow(read.rgba(...shown.range)) : undefined,
      marks: left.shape.length < 4 ? { lit: { mask } } : {},
      onResult: {},
      origin(index) {
        const pixel = pixels?.[index[0]];
        const place = pixels ? [Math.floor(pixel / width), pixel % width, ...index.slice(1)] : [...index];
        const name = `result[${index.join(', ')}]`;
        const isSelected = pixels || mask[index[0] * width + index[1]];
        if (state.how === 'flip' && isSelected) place[1] = width - 1 - place[1];
        const value = state.how === 'keep' && !isSelected ? '0' : `x[${place.join(', ')}]`;
        const reason = isSelected ? '' : ', as the mask is false';
        return { marks: { at: pixelOf(place, left) }, text: `${name} = ${value}${reason}` };
      },
    };
  },
  // A drag is a stroke. Points close to the previous one are skipped.
  drag(from, to, state, hasEnded) {
    const radius = (state.erase ? -1 : 1) * Number(state.radius);
    const point = `${to.row},${to.column}`;
    if (!this.from) {
      if (hasEnded) return null;
      this.from = to;
      return { strokes: `${state.strokes ? `${state.strokes};` : ''}${radius}:${point}` };
    }
    const isNear = Math.hypot(to.row - this.from.row, to.column - this.from.column) < Math.abs(radius) / 3 + 1;
    this.from = hasEnded ? null : (isNear ? this.from : to);
    return isNear && !hasEnded ? null : { strokes: `${state.strokes} ${point}` };
  },
  programs,
  connect(operation) {
    $('clear-mask').addEventListener('click', () => operation.set({ strokes: '' }));
  },
});
