// Draws pictures, and marks over them. A picture has a canvas with its pixels. The marks are on a second canvas above
// it, which has the resolution of the screen.

const [ACCENT, WARNING] = ['#22d3ee', '#fbbf24'];
// Colours that distinguish boxes, on dark and on bright pictures.
export const COLOURS = ['#22d3ee', '#fbbf24', '#f472b6', '#a3e635', '#c4b5fd', '#fb923c', '#5eead4', '#fca5a5'];
const DIMMED = 'rgb(6 12 18 / .72)';

// The maximum size of an enlarged pixel, and the minimum size at which its value is written into it, in screen pixels.
const [MAX_PIXEL, MIN_LEGIBLE] = [56, 17];

// Shows an image as large as the stage around it permits. Rows of an image that `isStretched` are at least 28 screen
// pixels high if the stage permits, even if its pixels are narrower.
export function paint(canvas, image, isStretched = false) {
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext('2d', { willReadFrequently: true }).putImageData(image, 0, 0);
  canvas.dataset.stretched = isStretched ? 'yes' : '';
  fit(canvas);
}

// Gives a canvas the size of a picture that other code draws.
export function resize(canvas, { width, height }) {
  if (canvas.width === width && canvas.height === height) return;
  canvas.width = width;
  canvas.height = height;
  canvas.dataset.stretched = '';
  fit(canvas);
}

// Gives a canvas the largest size on the screen that the stage around it permits.
export function fit(canvas) {
  const frame = canvas.parentElement;
  const maxWidth = frame.parentElement.clientWidth - 12;
  const maxHeight = Math.max(140, Math.min(500, maxWidth));
  const scale = Math.min(MAX_PIXEL, maxWidth / canvas.width, maxHeight / canvas.height);
  const minRowHeight = canvas.dataset.stretched ? Math.min(28, maxHeight / canvas.height) : 0;
  frame.style.width = `${Math.max(1, Math.round(canvas.width * scale))}px`;
  frame.style.height = `${Math.max(1, Math.round(canvas.height * Math.max(scale, minRowHeight)))}px`;
  canvas.style.imageRendering = scale > 1.2 || minRowHeight > scale ? 'pixelated' : 'auto';
}

// Returns a canvas of the size of a picture, which is opaque where pixels of the picture are selected.
function selectionLayer({ width, height }, { rows, columns, mask }) {
  const layer = new OffscreenCanvas(width, height);
  const context = layer.getContext('2d');
  const opaqueWhere = (flags, width, height) => {
    const image = new ImageData(width, height);
    flags.forEach((flag, at) => { image.data[4 * at + 3] = flag ? 255 : 0; });
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext('2d').putImageData(image, 0, 0);
    return canvas;
  };
  context.imageSmoothingEnabled = false;
  if (mask) {
    context.drawImage(opaqueWhere(mask, width, height), 0, 0);
    return layer;
  }
  context.drawImage(opaqueWhere(columns, width, 1), 0, 0, width, height);
  context.globalCompositeOperation = 'destination-in';
  context.drawImage(opaqueWhere(rows, 1, height), 0, 0, width, height);
  return layer;
}

// Draws marks over the picture of `canvas`:
//   lit    the selection: `rows` and `columns`, or a `mask`; other pixels are dimmed. Colour `channels` that are not
//          selected are hidden
//   boxes  `{ top, left, height, width, colour, label, flips: { v, h }, missing }`; missing boxes are hatched
//   texts  the values of the pixels, written into them if they fit
//   at     the pixel that is pointed at
// The marks are drawn on the canvas `overlay`.
export function mark(canvas, overlay, { lit, boxes = [], texts, at } = {}) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [overlay.clientWidth, overlay.clientHeight];
  overlay.width = Math.round(wide * ratio);
  overlay.height = Math.round(high * ratio);
  const context = overlay.getContext('2d');
  context.scale(ratio, ratio);
  const [x, y] = [wide / canvas.width, high / canvas.height];
  context.imageSmoothingEnabled = x < 1;
  if (lit) dimUnselected(context, canvas, lit, wide, high);
  if (texts && x >= MIN_LEGIBLE && y >= MIN_LEGIBLE) writeTexts(context, canvas, texts, x, y, lit);
  for (const box of boxes) drawBox(context, box, x, y, wide, high);
  if (at) drawCross(context, at, x, y, wide, high);
}

function dimUnselected(context, canvas, lit, wide, high) {
  const layer = selectionLayer(canvas, lit);
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
  tint.fillStyle = `rgb(${lit.channels.slice(0, 3).map((isSelected) => (isSelected ? 255 : 0)).join(' ')})`;
  tint.fillRect(0, 0, canvas.width, canvas.height);
  tint.globalCompositeOperation = 'destination-in';
  tint.drawImage(layer, 0, 0);
  context.drawImage(tinted, 0, 0, wide, high);
}

// Writes texts into pixels, in colours that are legible even if the pixels are dimmed.
function writeTexts(context, canvas, texts, x, y, lit) {
  const isDimmed = (at) => lit && !(lit.mask ? lit.mask[at] : lit.rows[Math.floor(at / canvas.width)] && lit.columns[at % canvas.width]);
  const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const shownTexts = texts.slice(0, canvas.width * canvas.height);
  const fontSize = Math.min(14, y * 0.5, (x - 3) / (0.62 * Math.max(...shownTexts.map(({ length }) => length))));
  if (fontSize < 7) return;
  context.font = `${fontSize}px ui-monospace, "DejaVu Sans Mono", monospace`;
  shownTexts.forEach((text, at) => {
    const isBright = image[4 * at] * 0.3 + image[4 * at + 1] * 0.6 + image[4 * at + 2] * 0.1 > 110 && !isDimmed(at);
    context.fillStyle = isBright ? '#06222a' : '#e6f6fa';
    context.fillText(text, (at % canvas.width + 0.5) * x, (Math.floor(at / canvas.width) + 0.5) * y);
  });
}

function drawBox(context, { top, left, height, width, colour = ACCENT, label, flips = {}, missing }, x, y, wide, high) {
  // A single pixel of a large picture is drawn large enough to be visible.
  const [w, h] = [Math.max(width * x, 5), Math.max(height * y, 5)];
  const [l, t] = [(left + width / 2) * x - w / 2, (top + height / 2) * y - h / 2];
  if (missing) drawHatching(context, l, t, w, h);
  const drawOutline = (style, thickness) => {
    context.lineWidth = thickness;
    context.strokeStyle = style;
    context.strokeRect(l + 1, t + 1, Math.max(1, w - 2), Math.max(1, h - 2));
  };
  drawOutline('rgb(0 0 0 / .55)', 4);
  drawOutline(missing ? WARNING : colour, 2);
  if (flips.h) drawArrow(context, Math.min(l + w - 8, wide - 8), t + Math.min(h / 2, 14), -Math.min(w - 16, 64), 0);
  if (flips.v) drawArrow(context, l + Math.min(w / 2, 14), Math.min(t + h - 8, high - 8), 0, -Math.min(h - 16, 64));
  if (label !== undefined) drawLabel(context, String(label), l, t, h, missing ? WARNING : colour);
}

function drawHatching(context, l, t, w, h) {
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

// Draws an arrow from (x, y) to (x + dx, y + dy), where dx or dy is 0.
function drawArrow(context, x, y, dx, dy) {
  const [tx, ty] = [x + dx, y + dy];
  const [ux, uy] = [Math.sign(dx), Math.sign(dy)];
  const drawLines = () => {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(tx, ty);
    context.moveTo(tx - 7 * ux - 5 * uy, ty - 7 * uy - 5 * ux);
    context.lineTo(tx, ty);
    context.lineTo(tx - 7 * ux + 5 * uy, ty - 7 * uy + 5 * ux);
    context.stroke();
  };
  context.lineCap = context.lineJoin = 'round';
  for (const [style, thickness] of [['rgb(0 0 0 / .6)', 6], [WARNING, 3]]) {
    context.strokeStyle = style;
    context.lineWidth = thickness;
    drawLines();
  }
}

function drawLabel(context, text, l, t, h, colour) {
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

function drawCross(context, { row, column }, x, y, wide, high) {
  const [cx, cy] = [(column + 0.5) * x, (row + 0.5) * y];
  for (const [style, thickness] of [['rgb(0 0 0 / .6)', 3], ['#fff', 1]]) {
    context.strokeStyle = style;
    context.lineWidth = thickness;
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

// Rearranges an image of `count` pictures, stacked one below another, into rows of pictures on a sheet. Returns the
// sheet as `image`. `place` returns the pixel of the old image for a pixel of the sheet, or null if there is none.
// `box` returns a picture's position on the sheet, given its number.
export function sideBySide({ data, width, height }, count) {
  const high = height / count;
  const columns = picturesPerRow(count, [high, width]);
  const image = new ImageData(columns * width, Math.ceil(count / columns) * high);
  for (let row = 0; row < height; row++) {
    const picture = Math.floor(row / high);
    const pixel = (Math.floor(picture / columns) * high + row % high) * image.width + (picture % columns) * width;
    image.data.set(data.subarray(row * width * 4, (row + 1) * width * 4), pixel * 4);
  }
  return { image, ...sheet(count, [high, width]) };
}

// Returns the number of pictures in each row of a sheet.
export const picturesPerRow = (count, [high, width]) => Math.max(1, Math.min(count, Math.round(Math.sqrt(count * high / width))));

// Returns `place` and `box`, as `sideBySide` does, for a sheet of `count` pictures of this height and width.
export function sheet(count, [high, width]) {
  const columns = picturesPerRow(count, [high, width]);
  return {
    place({ row, column }) {
      const picture = Math.floor(row / high) * columns + Math.floor(column / width);
      return picture < count ? { row: picture * high + row % high, column: column % width } : null;
    },
    box: (picture) => ({
      top: Math.floor(picture / columns) * high, left: (picture % columns) * width, height: high, width,
    }),
  };
}

// Wraps one long row of pixels into the rows of an image. `place` returns the pixel of the long row for a pixel of the
// image, or null if there is none.
export function wrapRow(pixels) {
  const count = pixels.length / 4;
  const width = Math.max(1, Math.ceil(Math.sqrt(count)));
  const image = new ImageData(width, Math.max(1, Math.ceil(count / width)));
  image.data.set(pixels);
  const place = ({ row, column }) => (row * width + column < count ? { row: 0, column: row * width + column } : null);
  return { image, place };
}
