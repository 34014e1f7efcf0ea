// Compares the tabs for crops, scatters and updates with the command. Checks the tab for masks, and the camera.

import path from 'node:path';
import { Browser, DISPLAY_SWITCHES } from './browser.mjs';
import { same, wgslice } from './checks.mjs';
import * as npy from './npy.mjs';

const savedResult = async (page) => npy.read(await page.save('npy'));

function resultOfCommand(...args) {
  const output = path.join(npy.folder, 'made.npy');
  const run = wgslice(...args, '-o', output);
  if (run.code) throw new Error(run.stderr);
  return npy.read(output);
}

const click = async (page, row, column) => page.page.mouse.click(...await page.spot('source', row, column));

async function crops(checks, browser) {
  const page = await browser.open('?tab=crop');
  const x = await npy.photograph(page);
  const batch = path.join(npy.folder, 'batch.npy');
  wgslice('stack', x, '-o', batch);
  const compare = async () => {
    const { boxes, height, width } = await page.page.$eval('#crop', ({ dataset }) => JSON.parse(dataset.shows));
    const lines = boxes.split('\n');
    const begins = npy.write('begins.npy', [lines.length, 2], Int32Array.from(lines.flatMap((line) => line.match(/-?\d+/g).map(Number))));
    const flips = npy.write('flips.npy', [lines.length, 2], Uint8Array.from(lines.flatMap((line) => [line.includes('v'), line.includes('h')])));
    const items = npy.write('items.npy', [lines.length], new Int32Array(lines.length));
    const expected = resultOfCommand('crop', batch, begins, '--size', `${height},${width}`, '--flips', flips, '--box-indices', items);
    same(await savedResult(page), expected, `boxes ${lines.join('; ')}`);
    return { lines, expected };
  };
  await checks.that('crop: the initial boxes, one of which is partly outside of x', async () => {
    await compare();
    same((await page.text('report')).startsWith('1 of 6 boxes is out of range'), true, await page.text('report'));
  });
  await checks.that('crop: random boxes and flips', async () => {
    const before = await page.text('boxes');
    await page.type({ height: '60', width: '90' });
    await page.page.click('#shuffle');
    await page.page.waitForFunction((before) => {
      const { state, shows } = document.getElementById('crop').dataset;
      return state === 'done' && JSON.parse(shows).boxes !== before && JSON.parse(shows).boxes === document.getElementById('boxes').value;
    }, {}, before);
    const { lines } = await compare();
    same(lines.length, 9, 'boxes');
    same(await page.text('report'), 'All 9 boxes are in range.', 'report');
  });
  await checks.that('crop: a click adds a box, and a pixel of a crop marks its source', async () => {
    await page.type({ height: '60', width: '90' });
    await page.page.click('#clear-boxes');
    await page.waitForText('result-shape', '0 × 60 × 90 × 3');
    await click(page, 200, 300);
    await page.waitForText('report', 'The only box is in range');
    const { lines } = await compare();
    const [top, left] = lines[0].match(/-?\d+/g).map(Number);
    // The screen has fewer pixels than the picture, so the position of a click is inexact.
    same([Math.abs(top - 170) < 3, Math.abs(left - 255) < 3], [true, true], lines[0]);
    await page.type({ boxes: '10, 20 vh' });
    await page.until('crop', { boxes: '10, 20 vh' });
    await page.hover('result', 0, 0);
    same(await page.text('pointed'), 'result[0, 0, 0, 0] = x[69, 109, 0]', 'the first pixel of a flipped box');
  });
  await checks.that('crop: the errors of invalid boxes', async () => {
    for (const [state, errorPart] of [[{ boxes: '1' }, 'box 1: it needs two'], [{ boxes: '1, 2\n3, x' }, 'box 2: "x"'], [{ boxes: '1, 2', height: '-3' }, 'height']]) {
      await page.type(state);
      await page.waitForText('error', errorPart);
    }
  });
  await checks.that('crop: the page reports no problem', () => page.close());
}

async function scatters(checks, browser) {
  const page = await browser.open('?tab=scatter');
  const board = (onto) => npy.write('board.npy', [8, 8], Int32Array.from({ length: 64 }, (_, at) => (onto === 'zeros' ? 0 : 10 * Math.floor(at / 8) + (at % 8))));
  for (const combine of ['add', 'sub', 'min', 'max', 'update']) {
    await checks.that(`scatter: ${combine}`, async () => {
      for (const onto of ['zeros', 'numbers']) {
        const updates = '2, 3\n2, 3: 5\n7, 7: -9\n0, 0: 4\n2, 3: -2\n8, 0\n7, 7: 100';
        await page.type({ combine, onto, updates });
        await page.until('scatter', { combine, onto, updates });
        const rows = updates.split('\n').map((line) => [...line.match(/-?\d+/g).map(Number), 1]);
        const indices = npy.write('indices.npy', [rows.length, 2], Int32Array.from(rows.flatMap(([row, column]) => [row, column])));
        const values = npy.write('values.npy', [rows.length], Int32Array.from(rows.map(([, , value]) => value)));
        const expected = resultOfCommand('scatter-nd', indices, values, '--into', board(onto), '--combine', combine);
        same(await savedResult(page), expected, onto);
        same(await page.text('report'), '1 of 7 updates is out of range. The first is number 5, counted from 0: [8, 0].', 'report');
      }
    });
  }
  await checks.that('scatter: clicks on the board accumulate', async () => {
    await page.type({ combine: 'add', onto: 'zeros', updates: '' });
    for (const [row, column] of [[1, 2], [1, 2], [6, 5]]) {
      await click(page, row, column);
      await page.page.waitForFunction((line) => document.getElementById('updates').value.endsWith(line), {}, `${row}, ${column}`);
    }
    await page.until('scatter', { updates: '1, 2\n1, 2\n6, 5' });
    const { data } = await savedResult(page);
    same([data[10], data[53], data.reduce((sum, value) => sum + value)], [2, 1, 3], 'the board');
  });
  await checks.that('scatter: a histogram of colours, whose cells mark their pixels', async () => {
    await page.example('the colours of x');
    await page.until('scatter', { of: 'rg' });
    const unused = await page.page.$$eval('#combine, #onto, #updates', (inputs) => inputs.filter(({ disabled }) => disabled).length);
    same(unused, 3, 'inputs that colours do not use');
    const { width, height, data } = await page.pixels('source');
    const counts = new Int32Array(65536);
    for (let at = 0; at < data.length; at += 4) counts[256 * data[at] + data[at + 1]]++;
    same(await savedResult(page), { shape: [256, 256], data: counts }, 'counts');
    const fullest = counts.indexOf(Math.max(...counts));
    await page.hover('result', Math.floor(fullest / 256), fullest % 256);
    const pointedText = await page.text('pointed');
    // The screen can have fewer pixels than the board, so the row and the column come from the page.
    const [, row, column, count] = pointedText.match(/\[(\d+), (\d+)\] = (\d+)/).map(Number);
    same(count, counts[256 * row + column], pointedText);
    return `${width * height} pixels`;
  });
  await checks.that('scatter: the page reports no problem', () => page.close());
}

async function updates(checks, browser) {
  const page = await browser.open('?tab=update&of=x');
  const x = await npy.photograph(page);
  const board = npy.write('board.npy', [8, 8], Int32Array.from({ length: 64 }, (_, at) => 10 * Math.floor(at / 8) + (at % 8)));
  const compare = async (state) => {
    await page.fill('update', state);
    await page.until('update', state);
    same(await page.text('error'), '', JSON.stringify(state));
    const { of, spec, combine, value } = state;
    same(await savedResult(page), resultOfCommand('index-update', of === 'board' ? board : x, spec, value, '--combine', combine), JSON.stringify(state));
  };
  for (const combine of ['update', 'add', 'sub', 'mul', 'min', 'max']) {
    await checks.that(`update: ${combine}`, async () => {
      const mask = '[True, False, False, True, False, False, False, True]';
      for (const [spec, value] of [
        ['[1, 5], 2:', '100'], ['[3, 3, 3], [4, -4, 4]', '[1, 10, -100]'], [mask, '[[5], [6], [7]]'], [`:, ${mask}`, '3'],
        ['None, ..., 0, [[1], [1]]', '-2'], ['', '2'], ['3:3', '9'],
      ]) await compare({ of: 'board', spec, combine, value });
      // Shaders combine bytes only by adding them.
      if (['update', 'add'].includes(combine)) await compare({ of: 'x', spec: '[3, 3, 500], 10:90:7, :2', combine, value: '[20, 250]' });
    });
  }
  await checks.that('update: a click and a drag change the expression', async () => {
    await page.fill('update', { of: 'board', combine: 'add', value: '1' });
    await page.drag([1, 2], [3, 6]);
    await page.until('update', { spec: '1:4, 2:7' });
    await click(page, 6, 5);
    await page.until('update', { spec: '6, 5' });
    await page.hover('result', 6, 5);
    same(await page.text('pointed'), 'result[6, 5] = 66; it was 65. Selected.', 'the text about a cell');
    same(await page.text('report'), 'x[6, 5] selects 1 of 64 cells.', 'report');
  });
  await checks.that('update: the errors of invalid updates', async () => {
    const good = { of: 'board', spec: '0', combine: 'add', value: '1' };
    for (const [state, errorPart] of [
      [{ spec: '[0, 8]' }, 'has position 8'], [{ spec: '[True, False]' }, 'is a mask of shape'], [{ spec: '[0, 1' }, 'not closed'], [{ value: '[1, 2]', spec: '0, :5' }, 'cannot be broadcast'],
      [{ value: 'a' }, 'must be an integer'], [{ value: '5000000000' }, 'does not fit int32'], [{ of: 'x', value: '300' }, 'does not fit uint8'],
      [{ spec: '0, 0, 0' }, 'has only 2'], [{ of: 'x', combine: 'min' }, 'shaders cannot combine uint8 by “minimum”: choose the CPU as the device'],
    ]) {
      await page.fill('update', { ...good, ...state });
      await page.waitForText('error', errorPart);
      await page.fill('update', good);
      await page.until('update', good);
      same(await page.text('error'), '', 'the error is cleared');
    }
  });
  await checks.that('update: the page reports no problem', () => page.close());
}

async function masks(checks, browser) {
  const page = await browser.open('?tab=mask');
  const x = await npy.photograph(page);
  await page.page.click('#clear-mask');
  await page.until('mask', { strokes: '' });
  await checks.that('mask: the pixels that the brush painted are kept', async () => {
    same((await savedResult(page)).data.every((value) => value === 0), true, 'an empty mask keeps nothing');
    await page.drag([100, 100], [100, 300]);
    await page.page.waitForFunction(() => document.getElementById('report').textContent.match(/for [1-9]/));
    await page.page.waitForFunction(() => document.getElementById('mask').dataset.state === 'done');
    const whole = npy.read(x);
    const { shape, data } = await savedResult(page);
    same(shape, [512, 512, 3], 'shape');
    const kept = (row, column) => data[3 * (512 * row + column)] === whole.data[3 * (512 * row + column)] && data[3 * (512 * row + column) + 2] === whole.data[3 * (512 * row + column) + 2];
    const gone = (row, column) => [0, 1, 2].every((channel) => data[3 * (512 * row + column) + channel] === 0);
    same([kept(100, 200), kept(110, 150), gone(140, 200), gone(100, 360), gone(60, 200)], [true, true, true, true, true], 'pixels');
  });
  await checks.that('mask: the painted pixels are listed, flipped and erased', async () => {
    const [count] = (await page.text('report')).match(/[\d,]+/).map((text) => Number(text.replaceAll(',', '')));
    const kept = await savedResult(page);
    await page.type({ how: 'list' });
    await page.until('mask', { how: 'list' });
    const list = await savedResult(page);
    same(list.shape, [count, 3], 'shape');
    // The list has the values that the mask keeps. Values of 0 are not counted, because dropped values are also 0.
    const countNonzero = (data) => [...data].filter(Boolean).length;
    same(countNonzero(list.data), countNonzero(kept.data), 'values that are not 0');
    await page.type({ how: 'flip' });
    await page.until('mask', { how: 'flip' });
    const [flipped, whole] = [(await savedResult(page)).data, npy.read(x).data];
    same([flipped[3 * (512 * 100 + 200)], flipped[3 * (512 * 300 + 200)]], [whole[3 * (512 * 100 + 311)], whole[3 * (512 * 300 + 200)]], 'a flipped pixel, and one that is not');
    await page.type({ erase: true, radius: '60' });
    await page.drag([100, 80], [100, 330]);
    await page.waitForText('report', 'true for 0 of');
  });
  await checks.that('mask: the page reports no problem', () => page.close());
}

const halvedSides = (shape) => shape.replace(/\d+ × \d+/, (sides) => sides.split(' × ').map((side) => Math.ceil(side / 2)).join(' × '));

// Returns the pixels on the canvas for frames that stay on the GPU. Scripts can read them only until the screen shows
// them, so they are copied right after a submission. Before the first frame, the canvas is transparent.
function livePixels(page) {
  return page.page.evaluate(() => new Promise((resolve) => {
    const from = document.getElementById('result-live');
    const { submit } = GPUQueue.prototype;
    GPUQueue.prototype.submit = function (...args) {
      submit.apply(this, args);
      const { width, height } = from;
      const copy = new OffscreenCanvas(width, height).getContext('2d');
      copy.drawImage(from, 0, 0);
      const { data } = copy.getImageData(0, 0, width, height);
      if (data[3] === 0) return;
      GPUQueue.prototype.submit = submit;
      resolve({ width, height, data: [...data] });
    };
  }));
}

// Checks camera frames that stay on the GPU. The page keeps frames only on a hardware GPU, so the tests make
// SwiftShader claim to be one.
async function gpuFrames(checks) {
  const browser = await Browser.launch(DISPLAY_SWITCHES);
  const claimHardware = 'Object.defineProperty(GPUAdapterInfo.prototype, "isFallbackAdapter", { get: () => false });';
  await checks.that('camera: frames are sliced on the GPU, one after another, and nothing is read back', async () => {
    const page = await browser.open('?spec=::2,%20::-2', { before: claimHardware });
    // Records all calls that could read pixels back from the GPU or from a canvas.
    await page.page.evaluate(() => {
      window.reads = [];
      const record = (prototype, name) => {
        const original = prototype[name];
        prototype[name] = function (...args) {
          window.reads.push(name);
          return original.apply(this, args);
        };
      };
      record(GPUBuffer.prototype, 'mapAsync');
      record(CanvasRenderingContext2D.prototype, 'getImageData');
      record(OffscreenCanvasRenderingContext2D.prototype, 'getImageData');
    });
    await page.page.click('#camera');
    await page.waitForText('rate', 'from texture to texture');
    const shape = await page.text('source-shape');
    same(await page.text('result-shape'), halvedSides(shape), 'shape');
    const recordedReads = () => page.page.evaluate(() => window.reads);
    await page.page.evaluate(() => {
      window.reads = [];
      document.getElementById('rate').textContent = '';
    });
    await page.waitForText('rate', 'from texture to texture');
    same(await recordedReads(), [], 'reads while frames are shown');
    const rate = await page.text('rate');
    const sumOfPixels = () => livePixels(page).then(({ data }) => data.reduce((sum, value) => sum + value, 0));
    const first = await sumOfPixels();
    for (let time = 0; await sumOfPixels() === first; time++) if (time > 100) throw new Error('the picture never changes');
    await page.type({ spec: '4:0' });
    await page.waitForText('result-shape', '0 × ');
    await page.type({ spec: '4:5:0' });
    await page.waitForText('error', 'stride');
    await page.type({ spec: ':, 3:40' });
    await page.waitForText('result-shape', ' × 37 × 3');
    same(await page.text('error'), '', 'error');
    same(npy.read(await page.save('npy')).shape[1], 37, 'the width of the saved frame');
    await page.show('mask');
    await page.waitForText('report', 'The mask is true for');
    await page.waitForText('rate', 'with upload and readback');
    await page.page.click('#camera');
    await page.page.waitForFunction(() => document.getElementById('rate').hidden);
    await page.times();
    await page.close();
    return rate;
  });
  await checks.that('camera: slices and crops on the GPU have the right pixels', async () => {
    // A camera that shows one picture, so that slices of it can be compared.
    const showStillPicture = () => {
      navigator.mediaDevices.getUserMedia = async () => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [96, 64];
        const context = canvas.getContext('2d');
        const draw = () => {
          for (let at = 0; at < 24; at++) {
            context.fillStyle = `hsl(${at * 47} 80% ${20 + at * 2}%)`;
            context.fillRect((at % 6) * 16, Math.floor(at / 6) * 16, 16, 16);
          }
        };
        draw();
        setInterval(draw, 20);
        return canvas.captureStream(30);
      };
    };
    const page = await browser.open('?spec=:', { before: `${claimHardware} (${showStillPicture})()` });
    await page.page.click('#camera');
    await page.waitForText('result-shape', '64 × 96 × 3');
    const colourAt = ({ data, width }, row, column) => [...data.slice(4 * (row * width + column), 4 * (row * width + column) + 3)];
    // The video's coding can make frames of the same picture differ, so the video is paused at one frame.
    await page.page.evaluate(() => document.getElementById('source-live').pause());
    await livePixels(page);
    const whole = await livePixels(page);
    same(new Set(Array.from({ length: 24 }, (_, block) => String(colourAt(whole, Math.floor(block / 6) * 16 + 8, (block % 6) * 16 + 8)))).size, 24, 'colours');
    const expectedPictures = {
      '::-1, ::2': [64, 48, (row, column) => colourAt(whole, 63 - row, 2 * column)],
      '10:20, 90:30:-3': [10, 20, (row, column) => colourAt(whole, 10 + row, 90 - 3 * column)],
      '..., 1': [64, 96, (row, column) => Array(3).fill(colourAt(whole, row, column)[1])],
    };
    const compare = async ([height, width, pixel], description) => {
      const actual = await livePixels(page);
      same([actual.height, actual.width], [height, width], `size of ${description}`);
      for (let row = 0; row < height; row++) {
        for (let column = 0; column < width; column++) same(colourAt(actual, row, column), pixel(row, column), `${description}, pixel ${row}, ${column}`);
      }
    };
    for (const [spec, expected] of Object.entries(expectedPictures)) {
      await page.type({ spec });
      await page.until('slice', { spec });
      await compare(expected, spec);
    }
    await page.show('crop');
    await page.type({ height: '20', width: '30', boxes: '5, 7\n40, 80 h\n0, 0 vh' });
    await page.until('crop', { boxes: '5, 7\n40, 80 h\n0, 0 vh' });
    const boxes = [[5, 7, 0, 0], [40, 80, 0, 1], [0, 0, 1, 1]];
    const [columns, rows] = [1, 3];
    await compare([20 * rows, 30 * columns, (row, column) => {
      const [top, left, v, h] = boxes[Math.floor(row / 20) * columns + Math.floor(column / 30)];
      const [down, across] = [row % 20, column % 30];
      const from = [top + (v ? 19 - down : down), left + (h ? 29 - across : across)];
      return from[0] < 64 && from[1] < 96 ? colourAt(whole, ...from) : [0, 0, 0];
    }], 'boxes');
    await page.close();
  });
  await browser.close();
}

async function softwareFrames(checks, browser) {
  await checks.that('camera: frames are sliced by a software adapter, one after another', async () => {
    const page = await browser.open('?spec=::2,%20::-2');
    await page.page.click('#camera');
    await page.waitForText('rate', 'with upload and readback');
    const shape = await page.text('source-shape');
    same(await page.text('result-shape'), halvedSides(shape), 'shape');
    const sumOfPixels = () => page.pixels('result').then(({ data }) => data.reduce((sum, value) => sum + value, 0));
    const first = await sumOfPixels();
    for (let time = 0; await sumOfPixels() === first; time++) if (time > 100) throw new Error('the picture never changes');
    const rate = await page.text('rate');
    await page.page.click('#camera');
    await page.page.waitForFunction(() => document.getElementById('rate').hidden);
    await page.times();
    await page.close();
    return rate;
  });
  await checks.that('camera: if it cannot be used, the page says why', async () => {
    const before = () => {
      navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('Permission denied', 'NotAllowedError'); };
    };
    const page = await browser.open('', { before });
    await page.page.click('#camera');
    await page.waitForText('source-note', 'The camera cannot be used: Permission denied');
    await page.close();
  });
}

export async function operations(checks, browser) {
  for (const group of [crops, scatters, updates, masks, softwareFrames, gpuFrames]) await group(checks, browser);
}
