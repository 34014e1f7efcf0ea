// Checks the marks on x, the page's array, that explain a slice; slices that a person makes by pointing; and the times
// of the devices.

import path from 'node:path';
import { same, wgslice } from './checks.mjs';
import * as npy from './npy.mjs';

const [HEIGHT, WIDTH] = [16, 20];

const SPECS = ['3:9, 4:15', '::-1, 2::3', '12:2:-4, ::2', '..., 1', '5', '-3:, -4', '3:3', ':, None, 7:9'];

// The value of each element is its position, so that the command's slice lists the selected positions.
const positionsFile = () => npy.write('positions.npy', [HEIGHT, WIDTH, 3], Int32Array.from({ length: HEIGHT * WIDTH * 3 }, (_, at) => at));

function selectedPositions(spec) {
  const output = path.join(npy.folder, 'selected.npy');
  const run = wgslice('slice', positionsFile(), spec, '-o', output);
  if (run.code) throw new Error(run.stderr);
  return npy.read(output);
}

// Opens the page with a small picture, whose pixels are large on the screen.
async function openSmallPicture(browser, query = '') {
  const page = await browser.open(query);
  const data = Uint8Array.from({ length: HEIGHT * WIDTH * 3 }, (_, at) => (at * 37) % 256);
  const file = path.join(npy.folder, 'small.png');
  wgslice('slice', npy.write('small.npy', [HEIGHT, WIDTH, 3], data), ':', '-o', file);
  await page.choose(file);
  await page.waitForText('source-shape', `${HEIGHT} × ${WIDTH} × 3`);
  return page;
}

const typeSlice = async (page, spec) => {
  await page.type({ spec, order: '' });
  await page.until('slice', { spec });
};

export async function explains(checks, browser) {
  const page = await openSmallPicture(browser);
  for (const spec of SPECS) {
    await checks.that(`explains: pixels outside x[${spec}] are dimmed`, async () => {
      await typeSlice(page, spec);
      const lit = new Set([...selectedPositions(spec).data].map((at) => Math.floor(at / 3)));
      const covers = await page.covers('source');
      // Arrows and outlines are opaque and cover few pixels. If one channel is selected, its colour covers the pixels.
      const [dimmed, tinted] = [Math.round(0.72 * 255), spec.startsWith('...')];
      let marked = 0;
      for (const [at, cover] of covers.entries()) {
        const expected = lit.has(at) ? (tinted ? 255 : 0) : dimmed;
        if (cover === expected) continue;
        if (cover > dimmed + 2 || (lit.has(at) && cover > 100)) marked++;
        else throw new Error(`pixel ${at} is covered by ${cover}, expected ${expected}`);
      }
      if (marked > covers.length / 5) throw new Error(`${marked} pixels of ${covers.length} have other marks`);
      return `${lit.size} of ${covers.length} pixels are lit, ${marked} have marks`;
    });
  }
  await checks.that('explains: only reversed axes have arrows', async () => {
    const countArrowPixels = () => page.page.$eval('#source-marks', (over) => {
      const copy = new OffscreenCanvas(over.width, over.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(over, 0, 0);
      const { data } = copy.getImageData(0, 0, over.width, over.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) count += data[at] > 230 && data[at + 1] > 160 && data[at + 2] < 80 && data[at + 3] > 250;
      return count;
    });
    const counts = [];
    for (const spec of ['2:14, 3:17', '14:2:-1, 3:17', '14:2:-1, 17:3:-1']) {
      await typeSlice(page, spec);
      counts.push(await countArrowPixels());
    }
    const [none, one, two] = counts;
    same([none, one > 50, two > 1.5 * one], [0, true, true], `pixels of arrows ${counts}`);
  });
  await checks.that('explains: a pixel of the result marks its source', async () => {
    for (const [spec, row, column] of [['12:2:-4, ::2', 1, 3], ['3:9, 4:15', 5, 0], ['5', 0, 7]]) {
      await typeSlice(page, spec);
      await page.hover('result', row, column);
      const text = await page.text('pointed');
      const [to, from] = text.match(/\[[^\]]*\]/g).map((list) => JSON.parse(list));
      const { shape, data } = selectedPositions(spec);
      const flat = (index, shape) => index.reduce((at, position, axis) => at * shape[axis] + position, 0);
      same(flat(from, [HEIGHT, WIDTH, 3]), data[flat(to, shape)], `${spec}: ${text}`);
    }
    const before = await page.covers('source');
    await page.page.mouse.move(2, 2);
    same((await page.text('pointed')) === '' && before.some(Boolean), true, 'after the pointer leaves, no text');
  });
  await checks.that('explains: slices of a file in column-major order', async () => {
    const page = await browser.open();
    const values = Int32Array.from({ length: HEIGHT * WIDTH }, (_, at) => 100 * (at % HEIGHT) + Math.floor(at / HEIGHT));
    await page.choose(npy.write('columns.npy', [HEIGHT, WIDTH], values, { columnMajor: true }));
    await page.waitForText('source-shape', `${HEIGHT} × ${WIDTH}, int32`);
    await typeSlice(page, '2:9:3, 12:4:-2');
    same([...npy.read(await page.save('npy')).data], [2, 5, 8].flatMap((row) => [12, 10, 8, 6].map((column) => 100 * row + column)), 'values');
    await page.hover('result', 1, 2);
    same(await page.text('pointed'), 'result[1, 2] = x[5, 8]', 'the source');
    await page.close();
  });
  await checks.that('explains: a rectangle that is dragged on x becomes the slice', async () => {
    const drags = [
      [[2, 3], [9, 11], '2:10, 3:12'], [[9, 11], [2, 3], '9:1:-1, 11:2:-1'], [[0, 5], [15, 5], ':, 5:6'], [[4, 19], [4, 0], '4:5, 19::-1'],
    ];
    for (const [from, to, spec] of drags) {
      await page.drag(from, to);
      await page.until('slice', { spec });
      same(await page.text('spec'), spec, 'the field');
    }
  });
  await checks.that('explains: a rectangle that is drawn by keys becomes the slice', async () => {
    await page.page.mouse.move(2, 2);
    await page.page.focus('#source-marks');
    const press = async (...keys) => {
      for (const key of keys) await page.page.keyboard.press(key);
    };
    await press('ArrowLeft', 'Space', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'Space');
    // The cross starts at row 8, column 10, and first goes left. In such a small picture, a step is one pixel.
    await page.until('slice', { spec: '8:11, 9:13' });
  });
  await checks.that('explains: handles change the steps', async () => {
    const handle = async (name) => {
      const box = await (await page.page.$(`#step-${name}`)).boundingBox();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const pull = async (name, across, down) => {
      const [x, y] = await handle(name);
      await page.page.mouse.move(x, y);
      await page.page.mouse.down();
      await page.page.mouse.move(x + across / 2, y + down / 2);
      await page.page.mouse.move(x + across, y + down);
      await page.page.mouse.up();
    };
    for (const [spec, name, across, down, expected] of [
      ['3:15, 2:18', 'columns', 28, 0, '3:15, 2:18:3'],
      ['3:15, 2:18:3', 'columns', -14, 0, '3:15, 2:18:2'],
      ['3:15, 2:18:2', 'columns', -200, 0, '3:15, 2:18'],
      // In a reversed slice, a handle increases the step if it moves up or left.
      ['::-1, ::-1', 'rows', 0, -14, '::-2, ::-1'],
      ['..., 0', 'rows', 0, 14, '::2, :, 0'],
      ['None, 4:', 'columns', 14, 0, 'None, 4:, ::2'],
    ]) {
      await typeSlice(page, spec);
      await pull(name, across, down);
      await page.until('slice', { spec: expected });
    }
    await typeSlice(page, '3, 2:18');
    same(await page.page.$eval('#step-rows', ({ hidden }) => hidden), true, 'a single row has no step handle');
    await page.page.focus('#step-columns');
    for (const [key, expected] of [['ArrowRight', '3, 2:18:2'], ['End', '3, 2:18:20'], ['Home', '3, 2:18']]) {
      await page.page.keyboard.press(key);
      await page.until('slice', { spec: expected });
    }
    same(await page.page.$eval('#step-columns', (handle) => handle.getAttribute('aria-valuenow')), '1', 'the step for screen readers');
  });
  await checks.that('explains: after an error the previous result stays, faded and with a note', async () => {
    await typeSlice(page, '2:5');
    const opacity = () => page.page.$eval('.result .stage', (stage) => getComputedStyle(stage).opacity);
    same([await opacity(), await page.text('stale')], ['1', ''], 'before');
    await page.type({ spec: '2:5:' + '0' });
    await page.waitForText('error', 'stride');
    same([await opacity(), await page.text('stale')], ['0.35', 'The result of the last valid input:'], 'after an error');
    await typeSlice(page, '2:6');
    same([await opacity(), await page.text('stale')], ['1', ''], 'after that');
  });
  await checks.that('explains: a drag clears an error, and x does not move', async () => {
    await page.type({ spec: '1:2:0' });
    await page.waitForText('error', 'stride');
    await page.drag([4, 4], [12, 12]);
    await page.until('slice', { spec: '4:13, 4:13' });
    same(await page.text('error'), '', 'error');
  });
  await checks.that('explains: times of both devices, after a warm-up', async () => {
    // Records every pipeline that is compiled and every result that is read back, in order.
    const before = () => {
      window.events = [];
      for (const [{ prototype }, name] of [[GPUDevice, 'createComputePipeline'], [GPUDevice, 'createComputePipelineAsync'], [GPUBuffer, 'mapAsync']]) {
        const original = prototype[name];
        prototype[name] = function (...args) {
          window.events.push(name);
          return original.apply(this, args);
        };
      }
    };
    const page = await browser.open('?spec=1:7,%20::-2', { before });
    const times = await page.times();
    same(times.map((text) => text.replace(/[\d.]+ ms/, 'T')), ['WebGPU (software)T', 'CPUT'], 'rows');
    same((await page.text('times-note')).startsWith('The same bytes on both.'), true, 'note');
    // The first call waits until its pipeline is compiled. It is not counted, so more calls are made than counted.
    const calls = await page.page.$eval('#times > div', ({ title }) => Number(title.match(/the mean of (\d+) calls/)[1]));
    const events = await page.page.evaluate(() => window.events);
    const lastCompilation = events.findLastIndex((name) => name.startsWith('create'));
    const reads = events.length - 1 - lastCompilation;
    same([lastCompilation >= 0, reads > calls], [true, true], `${reads} results after the last compilation, of which ${calls} count`);
    await page.close();
    return times.join(', ');
  });
  await checks.that('explains: the page reports no problem', () => page.close());
}
