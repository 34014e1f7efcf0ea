// The sixth tab: a mask that is painted on x with a brush.

import { wrapped } from './drawing.js';
import { pixelOf } from './selection.js';
import { file, rustShape } from './snippets.js';
import { source } from './source.js';
import { Operation } from './tab.js';

const written = (number) => number.toLocaleString('en');

const $ = (id) => document.getElementById(id);

// Returns the pixels of x that strokes cover. A stroke is `radius: row,column row,column …`; a negative radius erases.
function painted(strokes, { width, height }) {
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

// The mask for the current strokes, which all devices and marks share.
let lastMask = { strokes: null };
function maskOf({ strokes }) {
  const x = source.shown;
  const [height, width = 1] = x.shape;
  if (lastMask.strokes !== strokes || lastMask.x !== x) lastMask = { strokes, x, mask: painted(strokes, { height, width }) };
  return lastMask.mask;
}

const programs = ({ state: { how }, left }) => {
  const [height, width] = left.shape;
  const deep = left.shape.length > 2;
  const maskShape = left.shape.map((size, axis) => (axis < 2 ? size : 1));
  const x = `(&x, ${rustShape(left.shape)})`;
  const m = deep ? 'mask[..., None]' : 'mask';
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
    const flat = maskOf(state);
    const count = flat.reduce((sum, is) => sum + is, 0);
    const [height, width] = left.shape;
    // The positions of the listed elements in x.
    const places = state.how === 'list' ? Array.from(flat.keys()).filter((at) => flat[at]) : null;
    return {
      label: `the mask selects ${count} of ${height * width}`,
      report: { bad: 0, text: `The mask is true for ${written(count)} of ${written(height * width)} pixels.` },
      sheet: count && places && shown.channels > 1 ? wrapped(read.rgba(...shown.range)) : undefined,
      marks: left.shape.length < 4 ? { lit: { mask: flat } } : {},
      onResult: {},
      origin(index) {
        const at = places?.[index[0]];
        const place = places ? [Math.floor(at / width), at % width, ...index.slice(1)] : [...index];
        const name = `result[${index.join(', ')}]`;
        const selected = places || flat[index[0] * width + index[1]];
        if (state.how === 'flip' && selected) place[1] = width - 1 - place[1];
        const value = state.how === 'keep' && !selected ? '0' : `x[${place.join(', ')}]`;
        const why = selected ? '' : ', as the mask is false';
        return { marks: { at: pixelOf(place, left) }, text: `${name} = ${value}${why}` };
      },
    };
  },
  // A drag is a stroke. Points close to the previous one are skipped.
  drag(from, to, state, ended) {
    const radius = (state.erase ? -1 : 1) * Number(state.radius);
    const point = `${to.row},${to.column}`;
    if (!this.from) {
      if (ended) return null;
      this.from = to;
      return { strokes: `${state.strokes ? `${state.strokes};` : ''}${radius}:${point}` };
    }
    const near = Math.hypot(to.row - this.from.row, to.column - this.from.column) < Math.abs(radius) / 3 + 1;
    this.from = ended ? null : (near ? this.from : to);
    return near && !ended ? null : { strokes: `${state.strokes} ${point}` };
  },
  programs,
  connect(operation) {
    $('clear-mask').addEventListener('click', () => operation.set({ strokes: '' }));
  },
});
