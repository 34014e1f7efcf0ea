// Compares the tab for slices with the command: pixels, shapes, masks and errors.

import path from 'node:path';
import { same, sameBytes, wgslice } from './checks.mjs';
import * as npy from './npy.mjs';

// Slices of the photograph that are pictures: the slice in Python, the order of dimensions, the number of channels.
const PICTURES = [
  ['32:288:2, 400:100:-2', '', 3],
  [':', '', 3],
  ['', '', 3],
  ['::-1, ::-1, ::-1', '', 3],
  ['100:228, 160:288', '', 3],
  ['::3, ::5', '', 3],
  ['-100:, :-100:7', '', 3],
  ['10:11, 20:21', '', 3],
  ['-1000:1000, 1000:-1000:-1', '', 3],
  ['..., 0', '', 1],
  ['..., 2:', '', 1],
  ['140', '', 3],
  [':, 17', '', 3],
  ['3, 4, 2', '', 1],
  ['None, ::4, ...', '', 3],
  ['100:300, None, 150:350', '', 3],
  ['[7_0:-3:3, tf.newaxis, 9::2, ...]', '', 3],
  ['::-1', '1, 0, 2', 3],
  ['5:400:3, 7:300:2', '2, 0, 1', 1],
  ['::2, 100, ::-1', '(1 0)', 1],
];

// Slices that are not pictures: empty, with two channels, or too long for a canvas.
const NOT_PICTURES = ['10:10', '5:2, ::-1', '..., 2::-2', '..., None, :', 'None, ::4, ..., None'];

// Invalid slices. NumPy would read those in brackets as lists of positions.
const INVALID = ['512', '[0, 2]', '[0]', 'x[[0]]', '1:, [0, 2]', ':, -513', '..., 3', '1:2:0', '::x', '1, 2, 3, 4', '[1', '..., ...', '99999999999999999999:', '1:2:3:4', '2.5'];

const show = async (page, spec, order = '') => {
  await page.type({ spec, order });
  await page.until('slice', { spec, order });
};

// Returns the command's slice of a file. `sliceArgs` are the arguments that define the slice.
function sliceByCommand(input, ...sliceArgs) {
  const output = path.join(npy.folder, 'made.npy');
  const run = wgslice('slice', input, ...sliceArgs, '-o', output);
  if (run.code) throw new Error(run.stderr);
  return npy.read(output);
}

async function compare(page, input, spec, order, channels) {
  await show(page, spec, order);
  const axes = order.match(/\d/g)?.map(Number);
  const sliced = sliceByCommand(input, spec);
  const expected = axes ? npy.transposed(sliced, axes) : sliced;
  same(await page.text('error'), '', 'error');
  same(await page.text('result-shape'), `${expected.shape.join(' × ') || 'a single value'}, uint8`, 'shape');
  const { width, height, data } = await page.pixels('result');
  same(width * height * channels, expected.data.length, 'elements');
  sameBytes(data, npy.rgba(expected, channels), 'pixels');
}

// Returns the command's options for the vectors and masks that the page shows.
async function maskOptions(page) {
  const cells = await page.page.$$eval('#masks td', (cells) => cells.map(({ dataset, textContent }) => [dataset.mask, textContent]));
  return cells.flatMap(([name, value]) => {
    const option = `--${name.replaceAll('_', '-')}`;
    // A mask is written in binary and in decimal, a vector in brackets.
    if (value.startsWith('[')) return [option, value.slice(1, -1).replaceAll(' ', '')];
    const [binary, decimal = binary] = value.split(' = ');
    same(Number(binary), Number(decimal), name);
    return [option, decimal];
  });
}

export async function slices(checks, browser) {
  const page = await browser.open();
  const photograph = await npy.photograph(page);
  await checks.that('slice: the page runs on WebGPU and gives no advice', async () => {
    same(await page.page.$eval('#device', ({ selectedOptions }) => selectedOptions[0].text), 'WebGPU · google swiftshader', 'the device');
    same(await page.text('advice'), '', 'advice');
    // The green light is only for hardware.
    same(await page.page.$eval('#device-light', ({ className }) => className), 'light cpu', 'the light');
  });
  for (const [spec, order, channels] of PICTURES) {
    await checks.that(`slice: pixels of x[${spec}] ${order}`, () => compare(page, photograph, spec, order, channels));
  }
  for (const spec of NOT_PICTURES) {
    await checks.that(`slice: values of x[${spec}]`, async () => {
      await show(page, spec);
      const { shape, data } = sliceByCommand(photograph, spec);
      same(await page.text('error'), '', 'error');
      same(await page.text('result-shape'), `${shape.join(' × ')}, uint8`, 'shape');
      same(await page.page.$eval('#result-frame', ({ hidden }) => hidden), true, 'the canvas is hidden');
      const values = (await page.text('result-numbers')).split('…')[0].match(/\d+/g)?.map(Number) ?? [];
      same(values, [...data.slice(0, 600)], 'values');
    });
  }
  await checks.that('slice: the command gives the same with TensorFlow’s masks', async () => {
    const specs = PICTURES.filter(([spec]) => spec).map(([spec]) => spec);
    for (const spec of [...specs, ...NOT_PICTURES]) {
      await show(page, spec);
      const masks = await maskOptions(page);
      const [byMasks, bySpec] = [sliceByCommand(photograph, ...masks), sliceByCommand(photograph, spec)];
      same(byMasks.shape, bySpec.shape, `${spec}: ${masks.join(' ')}`);
      sameBytes(byMasks.data, bySpec.data, `${spec}: ${masks.join(' ')}`);
    }
    return `${specs.length + NOT_PICTURES.length} slices`;
  });
  for (const spec of INVALID) {
    await checks.that(`slice: the error of x[${spec}]`, async () => {
      await show(page, '::-1');
      same(await page.text('error'), '', 'error of a valid slice');
      await show(page, spec);
      const { code, stderr } = wgslice('slice', photograph, spec, '-o', path.join(npy.folder, 'none.npy'));
      same(code, 2, 'exit code');
      const error = await page.text('error');
      // The command names the input before the error, and indents the error's lines.
      const oneLine = (text) => text.split(/\s+/).join(' ').trim();
      if (!error || !oneLine(stderr).includes(oneLine(error))) throw new Error(`${error}, but the command says ${stderr}`);
    });
  }
  await checks.that('slice: the error of an order of dimensions', async () => {
    for (const [order, errorPart] of [['0, 0, 1', '0'], ['0, 1', 'permutation'], ['1, x', '"x"'], ['-1, 0, 1', 'permutation']]) {
      await show(page, '::2', order);
      const error = await page.text('error');
      if (!error.includes(errorPart)) throw new Error(`${order}: ${error}`);
    }
  });
  await checks.that('slice: after fast typing, the last text is shown', async () => {
    const specs = Array.from({ length: 40 }, (_, at) => `${at}:${300 - at}:3, ::${1 + (at % 7)}`);
    await page.type(...specs.map((spec) => ({ spec })));
    await page.until('slice', { spec: specs.at(-1) });
    await compare(page, photograph, specs.at(-1), '', 3);
  });
  await checks.that('slice: the page reports no problem', () => page.close());
}
