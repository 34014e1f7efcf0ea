// The two figures, x and the result: pictures, marks, times and errors.

import { fit, mark, paint, resize } from './drawing.js';
import { pointing } from './pointing.js';
import { elementOf } from './selection.js';
import { placeSteps } from './steps.js';

const $ = (id) => document.getElementById(id);

// The figures that are shown, or null before the first ones:
//   left, shown       x and the result, as `shownAs` describes them
//   sheet             another arrangement of the result on its canvas, if it has one: `{ image, place }`
//   numbers           the values of the result as a text, or null if they are not shown
//   report            `{ bad, text }`: a text below the result; `bad` is the number of elements out of range
//   marks, onResult   the marks on x and on the result, for `mark`
//   film              `{ width, height, fits }` if x is a camera frame that stays on the GPU: the size of the result's
//                     canvas, and whether the result fits on it
//   steps             the handles on x
//   hint              what people can do with x
//   origin            returns the marks and the text for the source of an element of the result, given its position
let view = null;
// The pixel of the result that is pointed at, on its canvas and on its image, or null.
let pointed = null;
// The pixel of x to which the arrow keys have moved the cross.
let cross = null;
// The image of x that is on its canvas.
let paintedImage = null;

const shapeText = (shape, dtype) => `${shape.length ? shape.join(' × ') : 'a single value'}, ${dtype}`;

function drawMarks() {
  if (!view) return;
  const from = pointed && view.origin?.(elementOf(pointed.place, view.shown));
  placeSteps(view.steps ?? []);
  if (!$('source-frame').hidden) mark($('source'), $('source-marks'), { ...view.marks, at: cross, ...from?.marks });
  if (!$('result-frame').hidden) mark($('result'), $('result-marks'), { ...view.onResult, at: pointed?.on });
  $('pointed').textContent = from?.text ?? '';
}

export function show(next) {
  view = next;
  const { left, shown, sheet, film } = next;
  for (const name of ['source', 'result']) {
    $(`${name}-live`).hidden = !film;
    $(name).style.visibility = film ? 'hidden' : '';
  }
  $('source-frame').hidden = !left.image && !film;
  $('source-hint').textContent = next.hint;
  $('source-shape').textContent = shapeText(left.shape, left.dtype);
  if (film) resize($('source'), left);
  else if (left.image && paintedImage !== left.image) paint($('source'), left.image);
  paintedImage = left.image;
  const image = sheet?.image ?? shown.image;
  $('result-frame').hidden = film ? !film.fits : !image;
  $('result-shape').textContent = shapeText(shown.shape, shown.dtype);
  if (film?.fits) resize($('result'), film);
  else if (image) paint($('result'), image, next.stretched);
  $('save-png').hidden = !image && !film;
  $('result-numbers').hidden = !next.numbers;
  $('result-numbers').textContent = next.numbers ?? '';
  $('report').hidden = !next.report;
  $('report').textContent = next.report?.text ?? '';
  $('report').className = `report ${next.report?.bad ? 'some' : 'all'}`;
  $('source').setAttribute('aria-label', `x: ${shapeText(left.shape, left.dtype)}`);
  $('result').setAttribute('aria-label', `The result, ${next.label}: ${shapeText(shown.shape, shown.dtype)}`);
  pointed = null;
  drawMarks();
}

// Shows an error in the input, or none if `message` is null. With an error, the previous result stays, but faded.
export function error(message) {
  if (message !== null) $('error').textContent = message;
  $('error').hidden = message === null;
  $('stale').hidden = message === null || !view;
  document.body.classList.toggle('stale', message !== null);
}

const timeText = (time) => `${time < 0.095 ? time.toFixed(2) : time.toFixed(time < 9.95 ? 1 : 0)} ms`;

// Shows the times of the devices: `{ name, label, time, calls, same }`, or null while they are measured.
export function times(rows) {
  $('times').dataset.state = rows ? 'measured' : 'measuring';
  if (!rows) return;
  const longest = Math.max(...rows.map(({ time }) => time));
  $('times').replaceChildren(...rows.map(({ name, label, time, calls }) => {
    const row = document.createElement('div');
    row.title = `${label}: the mean of ${calls} calls after one that was not counted, from the array on the device to the bytes in this page`;
    row.innerHTML = '<span class="name"></span><span class="bar"><i></i></span><b></b>';
    row.children[0].textContent = name;
    row.querySelector('i').style.width = `${Math.max(1.5, time / longest * 100)}%`;
    row.children[2].textContent = timeText(time);
    return row;
  }));
  const agreement = rows.length > 1 ? (rows.every(({ same }) => same) ? 'The same bytes on both. ' : 'The bytes differ! ') : '';
  const [{ name, label }] = rows;
  const [, adapter] = label.split(' · ');
  const deviceText = {
    CPU: 'The CPU runs WebAssembly', 'WebGPU (software)': `The adapter, ${adapter}, runs the shaders on the CPU, not on a GPU`,
  }[name] ?? `WebGPU is ${adapter}`;
  $('times-note').textContent = `${agreement}Means of calls with readback, after a warm-up. ${deviceText}.`;
}

export function rate(text) {
  $('rate').textContent = text;
  $('rate').hidden = !text;
  $('timing').hidden = Boolean(text);
}

// Makes both figures react to pointing. Calls `drag(from, to, hasEnded)` with pixels of x.
export function connectPair(drag) {
  pointing($('source-marks'), $('source'), {
    over: (at, byKeys) => {
      if (!cross && !byKeys) return;
      cross = byKeys ? at : null;
      drawMarks();
    },
    drag,
  });
  pointing($('result-marks'), $('result'), {
    over: (on) => {
      const place = on && view && (view.sheet ? view.sheet.place(on) : on);
      pointed = place ? { on, place } : null;
      drawMarks();
    },
    drag: () => {},
  });
  addEventListener('resize', () => {
    for (const canvas of [$('source'), $('result')]) fit(canvas);
    drawMarks();
  });
  // Marks have the resolution of the screen, so they are drawn again when it changes.
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener('change', drawMarks);
}

function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Connects the buttons that save the result. `read` returns the result, which is also on the canvas after that.
export function connectSaving(read) {
  $('save-npy').addEventListener('click', async () => download(new Blob([(await read()).npy()]), 'result.npy'));
  $('save-png').addEventListener('click', async () => {
    await read();
    $('result').toBlob((blob) => download(blob, 'result.png'));
  });
}
