// Maps elements between a canvas, the array on it, and x, from which a slice takes its elements. Also writes and
// changes the text of slices.

// Returns the axis of an array whose positions are the columns of its canvas. Each pixel shows `channels` values.
export function columnAxis({ shape, channels }) {
  const last = shape.length - 1;
  const hasChannels = channels > 1 || (shape[last] === 1 && shape.length > 2);
  return hasChannels ? last - 1 : last;
}

// `unravel` returns the position of an element in an array, given its index in row-major order; `ravel` is the inverse.
export function unravel(flat, shape) {
  const index = shape.map(() => 0);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = flat % shape[axis];
    flat = Math.floor(flat / shape[axis]);
  }
  return index;
}
export const ravel = (index, shape) => shape.reduce((flat, size, axis) => flat * size + index[axis], 0);

// `pixelOf` returns the pixel that contains an element, and `elementOf` returns the first element of a pixel.
export function pixelOf(index, { shape, width, channels }) {
  const pixel = Math.floor(ravel(index, shape) / channels);
  return { row: Math.floor(pixel / width), column: pixel % width };
}
export const elementOf = ({ row, column }, { shape, width, channels }) => unravel((row * width + column) * channels, shape);

// Returns the position in x of an element of a slice of x.
export function origin(index, { offset, strides }, x) {
  const flat = index.reduce((sum, at, axis) => sum + at * strides[axis], offset);
  return unravel(flat, x.shape);
}

// Returns the positions that a slice selects along each axis of x, as `{ first, step, count }`. Null if there are none.
export function perAxis({ offset, shape, strides }, x) {
  if ([...shape].includes(0)) return null;
  const axes = unravel(offset, x.shape).map((first) => ({ first, step: 1, count: 1 }));
  const distances = x.shape.map((_, axis) => x.shape.slice(axis + 1).reduce((product, size) => product * size, 1));
  for (const [dimension, stride] of strides.entries()) {
    if (!stride) continue;
    // The distance between neighbours along an axis is the product of the sizes of all later axes.
    const axis = distances.findIndex((distance, at) => x.shape[at] > 1 && Math.abs(stride) >= distance);
    axes[axis] = { first: axes[axis].first, step: stride / distances[axis], count: shape[dimension] };
  }
  return axes;
}

const selects = ({ first, step, count }, at) => {
  const steps = (at - first) / step;
  return Number.isInteger(steps) && steps >= 0 && steps < count;
};

// Returns the rows, columns and channels that a slice selects on the canvas of x, and the box around them. The box also
// has the flips: whether the slice reverses the rows and the columns.
export function selected(selection, x) {
  const axes = perAxis(selection, x);
  if (!axes) return { rows: new Uint8Array(x.height), columns: new Uint8Array(x.width), channels: [], box: null };
  const column = columnAxis(x);
  const columns = Uint8Array.from({ length: x.width }, (_, at) => selects(axes[column], at));
  const outer = x.shape.slice(0, column);
  const rows = Uint8Array.from({ length: x.height }, (_, row) => unravel(row, outer).every((at, axis) => selects(axes[axis], at)));
  const channelAxis = axes[column + 1];
  const channels = Array.from({ length: x.channels }, (_, at) => !channelAxis || selects(channelAxis, at));
  const firstAndLast = (flags) => [flags.indexOf(1), flags.lastIndexOf(1)];
  const [[top, bottom], [left, right]] = [firstAndLast(rows), firstAndLast(columns)];
  const flips = { v: axes[column - 1]?.step < 0, h: axes[column].step < 0 };
  return { rows, columns, channels, box: { top, left, height: bottom - top + 1, width: right - left + 1, flips } };
}

// Returns the entry of a slice for the range from one position to another, inclusive. A reversed range down to 0 has an
// empty end, because -1 would mean the last position.
function range(from, to, size) {
  if (from === 0 && to === size - 1) return ':';
  if (to >= from) return `${from}:${to + 1}`;
  return `${from}:${to === 0 ? '' : to - 1}:-1`;
}

// Returns the text of the slice of x from one pixel to another. A dimension in which `to` precedes `from` is reversed.
export function spanned(from, to, x) {
  const column = columnAxis(x);
  const [start, end] = [elementOf(from, x), elementOf(to, x)];
  const items = start.slice(0, column).map((at, axis) => {
    // If x has stacked pictures, the slice selects the one that contains `from`.
    if (axis < column - 1) return String(at);
    return range(at, start.slice(0, axis).every((other, axis) => other === end[axis]) ? end[axis] : x.shape[axis] - 1, x.shape[axis]);
  });
  return [...items, range(start[column], end[column], x.shape[column])].join(', ');
}

const NEW_AXIS = /^(None|(\w+\.)?newaxis)$/;

// Returns the entries of a slice's text for an array of this rank, one for each axis and each new axis. `places` has
// the index of each axis's entry.
function entries(spec, rank) {
  const items = spec.trim().replace(/^\[(.*)\]$/, '$1').split(',').map((item) => item.trim());
  if (items.at(-1) === '') items.pop();
  const axisCount = items.filter((item) => item !== '...' && !NEW_AXIS.test(item)).length;
  const wholeAxes = Array(Math.max(0, rank - axisCount)).fill(':');
  const all = items.includes('...') ? items.flatMap((item) => (item === '...' ? wholeAxes : [item])) : [...items, ...wholeAxes];
  const places = all.flatMap((item, at) => (NEW_AXIS.test(item) ? [] : [at]));
  return { all, places };
}

// Returns the step of a slice along an axis. Null if it selects a single position.
export function stepOf(spec, axis, rank) {
  const { all, places } = entries(spec, rank);
  const parts = all[places[axis]]?.split(':') ?? [];
  return parts.length > 1 ? Number(parts[2]?.replaceAll('_', '') || 1) : null;
}

// Returns the text of the slice with another step along an axis.
export function stepped(spec, axis, rank, step) {
  const { all, places } = entries(spec, rank);
  const [start, stop] = all[places[axis]].split(':').map((part) => part.trim());
  all[places[axis]] = step === 1 ? `${start}:${stop}` : `${start}:${stop}:${step}`;
  while (all.length > 1 && all.at(-1) === ':') all.pop();
  return all.join(', ');
}
