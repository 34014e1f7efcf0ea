// Draws pictures, and marks over them. A picture has a canvas with its pixels, and above it a canvas with marks, which
// has the resolution of the screen.

const [ACCENT, WARNING] = ['#22d3ee', '#fbbf24'];
// Colours that distinguish boxes, on dark and on bright pictures.
export const COLOURS = ['#22d3ee', '#fbbf24', '#f472b6', '#a3e635', '#c4b5fd', '#fb923c', '#5eead4', '#fca5a5'];
const DIMMED = 'rgb(6 12 18 / .72)';

// The maximum size of an enlarged pixel, and the minimum size at which its value is written into it, in screen pixels.
const [LARGEST, LEGIBLE] = [56, 17];

// Shows an image as large as the stage around it permits. Rows of a `stretched` image are at least 28 screen pixels
// high if the stage permits, even if its pixels are narrower.
export function paint(canvas, image, stretched = false) {
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext('2d', { willReadFrequently: true }).putImageData(image, 0, 0);
  canvas.dataset.stretched = stretched ? 'yes' : '';
  fit(canvas);
}

// Gives a canvas the size of a picture that other code draws.
export function size(canvas, { width, height }) {
  if (canvas.width === width && canvas.height === height) return;
  canvas.width = width;
  canvas.height = height;
  canvas.dataset.stretched = '';
  fit(canvas);
}

export function fit(canvas) {
  const frame = canvas.parentElement;
  const room = frame.parentElement.clientWidth - 12;
  const height = Math.max(140, Math.min(500, room));
  const scale = Math.min(LARGEST, room / canvas.width, height / canvas.height);
  const tall = canvas.dataset.stretched ? Math.min(28, height / canvas.height) : 0;
  frame.style.width = `${Math.max(1, Math.round(canvas.width * scale))}px`;
  frame.style.height = `${Math.max(1, Math.round(canvas.height * Math.max(scale, tall)))}px`;
  canvas.style.imageRendering = scale > 1.2 || tall > scale ? 'pixelated' : 'auto';
}

// Returns a canvas of the size of a picture, which is opaque where pixels of the picture are selected.
function shape({ width, height }, { rows, columns, mask }) {
  const layer = new OffscreenCanvas(width, height);
  const context = layer.getContext('2d');
  const opaque = (lit, width, height) => {
    const image = new ImageData(width, height);
    lit.forEach((is, at) => { image.data[4 * at + 3] = is ? 255 : 0; });
    const part = new OffscreenCanvas(width, height);
    part.getContext('2d').putImageData(image, 0, 0);
    return part;
  };
  context.imageSmoothingEnabled = false;
  if (mask) {
    context.drawImage(opaque(mask, width, height), 0, 0);
    return layer;
  }
  context.drawImage(opaque(columns, width, 1), 0, 0, width, height);
  context.globalCompositeOperation = 'destination-in';
  context.drawImage(opaque(rows, 1, height), 0, 0, width, height);
  return layer;
}

// Draws marks over the picture of `canvas`:
//   lit    the selection: `rows` and `columns`, or a `mask`; the rest is dimmed. Only the `channels` are shown
//   boxes  `{ top, left, height, width, colour, label, flips: { v, h }, missing }`; missing boxes are hatched
//   texts  the values of the pixels, written into them if they fit
//   at     the pixel that is pointed at
export function mark(canvas, over, { lit, boxes = [], texts, at } = {}) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [over.clientWidth, over.clientHeight];
  over.width = Math.round(wide * ratio);
  over.height = Math.round(high * ratio);
  const context = over.getContext('2d');
  context.scale(ratio, ratio);
  const [x, y] = [wide / canvas.width, high / canvas.height];
  context.imageSmoothingEnabled = x < 1;
  if (lit) dim(context, canvas, lit, wide, high);
  if (texts && x >= LEGIBLE && y >= LEGIBLE) write(context, canvas, texts, x, y, lit);
  for (const one of boxes) box(context, one, x, y, wide, high);
  if (at) cross(context, at, x, y, wide, high);
}

function dim(context, canvas, lit, wide, high) {
  const layer = shape(canvas, lit);
  context.fillStyle = DIMMED;
  context.fillRect(0, 0, wide, high);
  context.globalCompositeOperation = 'destination-out';
  context.drawImage(layer, 0, 0, wide, high);
  context.globalCompositeOperation = 'source-over';
  const isTinted = lit.channels?.length >= 3 && lit.channels.slice(0, 3).includes(false) && lit.channels.slice(0, 3).includes(true);
  if (!isTinted) return;
  const tinted = new OffscreenCanvas(canvas.width, canvas.height);
  const tint = tinted.getContext('2d');
  tint.drawImage(canvas, 0, 0);
  tint.globalCompositeOperation = 'multiply';
  tint.fillStyle = `rgb(${lit.channels.slice(0, 3).map((is) => (is ? 255 : 0)).join(' ')})`;
  tint.fillRect(0, 0, canvas.width, canvas.height);
  tint.globalCompositeOperation = 'destination-in';
  tint.drawImage(layer, 0, 0);
  context.drawImage(tinted, 0, 0, wide, high);
}

// Writes texts into pixels, in colours that are legible even if the pixels are dimmed.
function write(context, canvas, texts, x, y, lit) {
  const dimmed = (at) => lit && !(lit.mask ? lit.mask[at] : lit.rows[Math.floor(at / canvas.width)] && lit.columns[at % canvas.width]);
  const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const shown = texts.slice(0, canvas.width * canvas.height);
  const size = Math.min(14, y * 0.5, (x - 3) / (0.62 * Math.max(...shown.map(({ length }) => length))));
  if (size < 7) return;
  context.font = `${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
  shown.forEach((text, at) => {
    const bright = image[4 * at] * 0.3 + image[4 * at + 1] * 0.6 + image[4 * at + 2] * 0.1 > 110 && !dimmed(at);
    context.fillStyle = bright ? '#06222a' : '#e6f6fa';
    context.fillText(text, (at % canvas.width + 0.5) * x, (Math.floor(at / canvas.width) + 0.5) * y);
  });
}

function box(context, { top, left, height, width, colour = ACCENT, label, flips = {}, missing }, x, y, wide, high) {
  // A single pixel of a large picture is drawn large enough to be visible.
  const [w, h] = [Math.max(width * x, 5), Math.max(height * y, 5)];
  const [l, t] = [(left + width / 2) * x - w / 2, (top + height / 2) * y - h / 2];
  if (missing) hatch(context, l, t, w, h);
  const outlined = (style, thick) => {
    context.lineWidth = thick;
    context.strokeStyle = style;
    context.strokeRect(l + 1, t + 1, Math.max(1, w - 2), Math.max(1, h - 2));
  };
  outlined('rgb(0 0 0 / .55)', 4);
  outlined(missing ? WARNING : colour, 2);
  if (flips.h) arrow(context, Math.min(l + w - 8, wide - 8), t + Math.min(h / 2, 14), -Math.min(w - 16, 64), 0);
  if (flips.v) arrow(context, l + Math.min(w / 2, 14), Math.min(t + h - 8, high - 8), 0, -Math.min(h - 16, 64));
  if (label !== undefined) tag(context, String(label), l, t, h, missing ? WARNING : colour);
}

function hatch(context, l, t, w, h) {
  context.save();
  context.beginPath();
  context.rect(l, t, w, h);
  context.clip();
  context.strokeStyle = 'rgb(251 191 36 / .75)';
  context.lineWidth = 2;
  for (let at = l - h; at < l + w; at += 9) {
    context.beginPath();
    context.moveTo(at, t + h);
    context.lineTo(at + h, t);
    context.stroke();
  }
  context.restore();
}

// Draws an arrow in the direction of an axis.
function arrow(context, x, y, dx, dy) {
  const [tx, ty] = [x + dx, y + dy];
  const [ux, uy] = [Math.sign(dx), Math.sign(dy)];
  const path = () => {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(tx, ty);
    context.moveTo(tx - 7 * ux - 5 * uy, ty - 7 * uy - 5 * ux);
    context.lineTo(tx, ty);
    context.lineTo(tx - 7 * ux + 5 * uy, ty - 7 * uy + 5 * ux);
    context.stroke();
  };
  context.lineCap = context.lineJoin = 'round';
  for (const [style, thick] of [['rgb(0 0 0 / .6)', 6], [WARNING, 3]]) {
    context.strokeStyle = style;
    context.lineWidth = thick;
    path();
  }
}

function tag(context, text, l, t, h, colour) {
  context.font = '600 11px ui-monospace, "DejaVu Sans Mono", monospace';
  const wide = context.measureText(text).width + 8;
  const top = h < 15 ? Math.max(0, t + h / 2 - 7.5) : t;
  context.fillStyle = colour;
  context.fillRect(l, top, wide, 15);
  context.fillStyle = '#06222a';
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillText(text, l + 4, top + 8);
}

function cross(context, { row, column }, x, y, wide, high) {
  const [cx, cy] = [(column + 0.5) * x, (row + 0.5) * y];
  for (const [style, thick] of [['rgb(0 0 0 / .6)', 3], ['#fff', 1]]) {
    context.strokeStyle = style;
    context.lineWidth = thick;
    context.beginPath();
    context.moveTo(0, cy);
    context.lineTo(wide, cy);
    context.moveTo(cx, 0);
    context.lineTo(cx, high);
    context.stroke();
    const [w, h] = [Math.max(x, 9), Math.max(y, 9)];
    context.strokeRect(cx - w / 2, cy - h / 2, w, h);
  }
}

// Rearranges an image of `count` stacked pictures side by side on a sheet, the new image. `place` returns the pixel of
// the old image for a pixel of the sheet, or null if there is none. `box` returns a picture's position on the sheet.
export function sideBySide({ data, width, height }, count) {
  const high = height / count;
  const columns = beside(count, [high, width]);
  const image = new ImageData(columns * width, Math.ceil(count / columns) * high);
  for (let row = 0; row < height; row++) {
    const at = Math.floor(row / high);
    const to = (Math.floor(at / columns) * high + row % high) * image.width + (at % columns) * width;
    image.data.set(data.subarray(row * width * 4, (row + 1) * width * 4), to * 4);
  }
  return { image, ...sheet(count, [high, width]) };
}

// Returns the number of pictures in each row of a sheet.
export const beside = (count, [high, width]) => Math.max(1, Math.min(count, Math.round(Math.sqrt(count * high / width))));

// Returns the positions of `count` pictures with this height and width on a sheet.
export function sheet(count, [high, width]) {
  const columns = beside(count, [high, width]);
  return {
    place({ row, column }) {
      const at = Math.floor(row / high) * columns + Math.floor(column / width);
      return at < count ? { row: at * high + row % high, column: column % width } : null;
    },
    box: (at) => ({ top: Math.floor(at / columns) * high, left: (at % columns) * width, height: high, width }),
  };
}

// Wraps the pixels of one long row into lines of a picture.
export function wrapped(pixels) {
  const count = pixels.length / 4;
  const width = Math.max(1, Math.ceil(Math.sqrt(count)));
  const image = new ImageData(width, Math.max(1, Math.ceil(count / width)));
  image.data.set(pixels);
  const place = ({ row, column }) => (row * width + column < count ? { row: 0, column: row * width + column } : null);
  return { image, place };
}
