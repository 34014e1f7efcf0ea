// Checks the inputs and outputs of the page: files, snippets, links and addresses.

import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from './browser.mjs';
import { same, sameBytes, wgslice } from './checks.mjs';
import * as npy from './npy.mjs';

const clipboardText = (page) => page.page.evaluate(() => navigator.clipboard.readText());

async function snippet(page, language) {
  await page.page.click(`#in-${language}`);
  await page.page.click('#copy');
  await page.page.waitForFunction(() => document.getElementById('copy').textContent === 'Copied');
  const text = await clipboardText(page);
  same(text, await page.text('snippet'), 'the copied text');
  return text;
}

const python = process.env.PYTHON ?? 'python3';
const hasModule = (module) => spawnSync(python, ['-c', `import ${module}`]).status === 0;

// Runs a Python program on the array in the file `x`, and returns its array `y`.
function runPython(program, x, imports) {
  const output = path.join(npy.folder, 'y.npy');
  const whole = `${imports}\nx = np.load(${JSON.stringify(x)})\n${program}\nnp.save(${JSON.stringify(output)}, np.ascontiguousarray(y))`;
  execFileSync(python, ['-c', whole], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '3', CUDA_VISIBLE_DEVICES: '' } });
  return npy.read(output);
}

const SLICES = [['32:288:2, 400:100:-2', ''], ['::-1', '1, 0, 2'], ['..., 0', ''], ['5, None, ...', ''], ['', '']];

export async function leads(checks, browser) {
  const page = await browser.open();
  const x = await npy.photograph(page);
  // The snippets use this name for the picture.
  wgslice('slice', x, ':', '-o', path.join(npy.folder, 'astronaut.png'));
  const result = async () => npy.read(await page.save('npy'));

  await checks.that('leads: the saved files equal those of the command', async () => {
    await page.type({ spec: '10:90:3, ::-7', order: '' });
    await page.until('slice', { spec: '10:90:3, ::-7' });
    const expectedFile = path.join(npy.folder, 'made.npy');
    wgslice('slice', x, '10:90:3, ::-7', '-o', expectedFile);
    sameBytes(fs.readFileSync(await page.save('npy')), fs.readFileSync(expectedFile), 'the .npy file');
    wgslice('slice', await page.save('png'), '..., :3', '-o', path.join(npy.folder, 'png.npy'));
    same(npy.read(path.join(npy.folder, 'png.npy')), npy.read(expectedFile), 'the .png file');
  });
  for (const [spec, order] of SLICES) {
    await checks.that(`leads: snippets of x[${spec}] ${order}`, async () => {
      await page.type({ spec, order });
      await page.until('slice', { spec, order });
      const expected = await result();
      const command = await snippet(page, 'command');
      const shellOptions = { cwd: npy.folder, env: { ...process.env, PATH: `${path.dirname(process.env.WGSLICE)}:${process.env.PATH}` } };
      execFileSync('bash', ['-c', `set -o pipefail; ${command}`], { ...shellOptions, stdio: ['ignore', 'ignore', 'pipe'] });
      const file = path.join(npy.folder, command.split(' ').at(-1));
      const converted = path.join(npy.folder, 'converted.npy');
      wgslice('slice', file, ':', '-o', converted);
      same(npy.read(file.endsWith('.npy') ? file : converted), expected, command);
      const agreed = ['the command'];
      const languages = [['numpy', 'import numpy as np'], ['tensorflow', 'import numpy as np, tensorflow as tf']];
      for (const [language, imports] of languages) {
        const program = await snippet(page, language);
        if (!hasModule(language)) continue;
        same(runPython(language === 'numpy' ? program : `x = tf.constant(x)\n${program}`, x, imports), expected, program);
        agreed.push(language);
      }
      const rust = await snippet(page, 'rust');
      same(rust.includes('slice![') && rust.includes('&[512, 512, 3]'), true, rust);
      return `${agreed.join(', ')} gave the same`;
    });
  }
  for (const [tab, state] of [
    ['gather', { policy: 'ignore', wrap: true }], ['gather', { policy: 'clamp', wrap: false }], ['crop', {}], ['scatter', {}], ['scatter', { of: 'rg' }],
    ['update', {}], ['update', { combine: 'mul' }], ['update', { of: 'x', spec: '[3, 3, 500], :, [True, False, True]', combine: 'add', value: '[[20], [30], [9]]' }], ['mask', {}],
  ]) {
    await checks.that(`leads: snippets of ${tab} ${JSON.stringify(state)}`, async () => {
      await page.show(tab);
      await page.fill(tab, state);
      await page.until(tab, state);
      const expected = await result();
      const agreed = [];
      for (const [language, imports] of [['numpy', 'import numpy as np'], ['tensorflow', 'import numpy as np, tensorflow as tf']]) {
        const program = await snippet(page, language);
        same(program.includes('y'), true, program);
        // A mask is painted, so the snippet does not contain it and cannot run.
        if (!hasModule(language) || tab === 'mask') continue;
        const boards = { scatter: 'np.zeros((8, 8), np.int32)', update: '10 * np.arange(8)[:, None].astype(np.int32) + np.arange(8).astype(np.int32)' };
        const xProgram = state.of ? 'x' : (boards[tab] ?? 'x');
        same(runPython(language === 'numpy' ? program : `x = tf.constant(${xProgram})\n${program}`, x, imports), expected, program);
        agreed.push(language);
      }
      const command = await snippet(page, 'command');
      if (tab === 'gather' || tab === 'crop') {
        execFileSync('bash', ['-c', `set -o pipefail; ${command}`], {
          cwd: npy.folder, stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH: `${path.dirname(process.env.WGSLICE)}:${process.env.PATH}` },
        });
        const file = path.join(npy.folder, command.match(/-o (\S+\.(?:npy|png))/g).at(-1).slice(3));
        wgslice('slice', file, ':', '-o', path.join(npy.folder, 'converted.npy'));
        same(npy.read(path.join(npy.folder, 'converted.npy')), expected, command);
        agreed.push('the command');
      }
      return agreed.length ? `${agreed.join(', ')} gave the same` : 'copied';
    });
  }
  await checks.that('leads: after a second copy, the button says “Copied” for as long again', async () => {
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));
    await page.page.click('#copy');
    await wait(1200);
    await page.page.click('#copy');
    await wait(600);
    same(await page.page.evaluate(() => document.getElementById('copy').textContent), 'Copied', 'the button');
  });
  await checks.that('leads: slices in Rust', async () => {
    const spellings = {
      '::-1, -3:, :-7': 'slice![..; -1, -3.., ..-7]',
      '..., None, 0': 'slice![Ellipsis, NewAxis, 0]',
      '5_000_000_000:9:3': 'slice![5000000000i64..9; 3]',
      '[1:2, ::, tf.newaxis]': 'slice![1..2, .., NewAxis]',
      '': 'slice![]',
    };
    await page.show('slice');
    for (const [spec, rust] of Object.entries(spellings)) {
      await page.type({ spec, order: '' });
      await page.until('slice', { spec });
      same((await snippet(page, 'rust')).match(/slice!\[.*\]/)[0], rust, spec);
    }
  });
  await checks.that('leads: the links are addresses, and the preview exists', async () => {
    const links = await page.page.$$eval('nav a', (links) => links.map(({ href }) => href));
    same(links.length >= 1 && links.every((link) => /^https:\/\/\S+$/.test(link)), true, links.join(' '));
    const { status } = await fetch(`${browser.origin}/preview.webp`);
    same(status, 200, 'the preview');
  });
  await checks.that('leads: the page reports no problem', () => page.close());

  await checks.that('leads: a picture can be chosen, dropped anywhere, and pasted', async () => {
    const page = await browser.open('?spec=:');
    const chosenFile = path.join(npy.folder, 'own.png');
    wgslice('slice', x, '3:120, 200:33:-2', '-o', chosenFile);
    await page.choose(chosenFile);
    await page.waitForText('result-shape', '117 × 84 × 3');
    const expectedFile = path.join(npy.folder, 'made.npy');
    wgslice('slice', chosenFile, ':', '-o', expectedFile);
    same(await npy.read(await page.save('npy')), npy.read(expectedFile), 'the chosen picture');
    const droppedFile = path.join(npy.folder, 'dropped.png');
    wgslice('slice', x, '3:50, 20:33', '-o', droppedFile);
    // A file can be dropped anywhere on the page, even outside of x.
    await page.drop(droppedFile, 600, 20);
    await page.waitForText('result-shape', '47 × 13 × 3');
    same(await page.page.$eval('#dropping', ({ hidden }) => hidden), true, 'the text that asks for a file is hidden');
    await page.page.evaluate(async () => {
      const canvas = new OffscreenCanvas(5, 4);
      canvas.getContext('2d').fillRect(1, 1, 2, 2);
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': canvas.convertToBlob() })]);
    });
    await page.page.focus('#link');
    await page.page.keyboard.down('Control');
    await page.page.keyboard.press('v');
    await page.page.keyboard.up('Control');
    await page.waitForText('result-shape', '4 × 5 × 4');
    await page.type({ spec: ':, ::-1, 3' });
    await page.until('slice', { spec: ':, ::-1, 3' });
    const isFilled = (at) => [1, 2].includes(Math.floor(at / 5)) && [2, 3].includes(at % 5);
    same([...npy.read(await page.save('npy')).data], Array.from({ length: 20 }, (_, at) => (isFilled(at) ? 255 : 0)), 'alpha of the pasted picture');
    await page.close();
  });
  await checks.that('leads: an .npy file keeps its element type', async () => {
    const page = await browser.open('?spec=::-1,%201');
    const values = Float32Array.from({ length: 24 }, (_, at) => at / 8 - 1);
    await page.drop(npy.write('volume.npy', [4, 3, 2], values), 600, 400);
    await page.waitForText('result-shape', '4 × 2, float32');
    same([...npy.read(await page.save('npy')).data], [20, 21, 14, 15, 8, 9, 2, 3].map((at) => values[at]), 'values');
    same(await page.page.$eval('#source', ({ width, height }) => [height, width]), [12, 2], 'x as a picture');
    await page.drag([3, 0], [5, 1]);
    await page.until('slice', { spec: '1, :, :' });
    await page.close();
  });
  await checks.that('leads: the page says which file it cannot read', async () => {
    const page = await browser.open();
    const textFile = path.join(npy.folder, 'text.png');
    fs.writeFileSync(textFile, 'no picture');
    await page.choose(textFile);
    await page.waitForText('source-note', 'text.png is not a readable picture');
    const truncatedFile = path.join(npy.folder, 'cut.npy');
    fs.writeFileSync(truncatedFile, fs.readFileSync(x).subarray(0, 5000));
    await page.choose(truncatedFile);
    await page.waitForText('source-note', 'ends too early');
    same(await page.text('source-shape'), '512 × 512 × 3, uint8', 'x');
    await page.close();
  });
  await checks.that('leads: a picture that is too long is made smaller', async () => {
    const page = await browser.open();
    const longFile = npy.write('long.npy', [6, 8192, 3], new Uint8Array(6 * 8192 * 3));
    wgslice('slice', longFile, ':', '-o', path.join(npy.folder, 'long.png'));
    await page.choose(path.join(npy.folder, 'long.png'));
    await page.waitForText('source-shape', '3 × 4096 × 3');
    await page.waitForText('source-note', 'made smaller, from 8192 × 6');
    await page.close();
  });
  await checks.that('leads: the photograph can be enlarged', async () => {
    const page = await browser.open();
    await page.page.click('#large');
    await page.waitForText('source-shape', '4096 × 4096 × 3');
    await page.waitForText('source-note', 'enlarged to 4096 × 4096');
    await page.close();
  });
  await checks.that('leads: the address has each tab’s state, and the link is copied', async () => {
    const states = {
      slice: { spec: '1:3, None', order: '1, 0, 2, 3' },
      gather: { from: 'table', tuples: '1\n-2', policy: 'clamp', wrap: true },
      crop: { boxes: '3, 4 vh\n5, 6', height: '40', width: '50' },
      scatter: { updates: '1, 1: 7\n1, 1', combine: 'max', onto: 'numbers' },
      update: { of: 'x', spec: '[1, 5, 1], ::2', combine: 'add', value: '[3, 4, 5]' },
      mask: { how: 'flip', radius: '9', erase: true },
    };
    for (const [tab, state] of Object.entries(states)) {
      const page = await browser.open(`?tab=${tab}`);
      await page.fill(tab, state);
      await page.until(tab, state);
      if (tab === 'mask') await page.drag([100, 200], [120, 220]);
      await page.page.click('#link');
      await page.page.waitForFunction(() => document.getElementById('link').textContent === 'Copied');
      const link = await clipboardText(page);
      // Strokes of the brush are in no input, so they are read from the link.
      const { searchParams } = new URL(link);
      await page.until(tab, searchParams.has('strokes') ? { strokes: searchParams.get('strokes') } : state);
      const shown = await page.save('npy').then(fs.readFileSync);
      await page.close();
      const linkedPage = await browser.open(new URL(link).search);
      await linkedPage.until(tab, state);
      sameBytes(fs.readFileSync(await linkedPage.save('npy')), shown, `the result of ${tab} from the link`);
      await linkedPage.page.waitForFunction((link) => location.href === link, {}, link);
      await linkedPage.close();
    }
    const verify = await browser.open('?tab=verify&seed=77&count=5');
    same([await verify.text('seed'), await verify.text('count')], ['77', '5'], 'the inputs of verify');
    await verify.close();
  });
  await checks.that('leads: while the page loads, its tabs open, and its inputs cannot be used', async () => {
    const page = await browser.chromium.newPage();
    await page.setRequestInterception(true);
    const wasmRequest = new Promise((resolve) => page.on('request', (request) => (request.url().endsWith('.wasm') ? resolve(request) : request.continue())));
    await page.goto(browser.origin, { waitUntil: 'domcontentloaded' });
    await page.waitForFunction(() => document.getElementById('slice').inert);
    await page.click('#tab-update');
    const updatePanel = () => page.$eval('#update', ({ hidden, inert }) => ({ hidden, inert }));
    same(await updatePanel(), { hidden: false, inert: true }, 'before');
    await (await wasmRequest).continue();
    await page.waitForFunction(() => document.getElementById('update').dataset.state === 'done');
    same(await updatePanel(), { hidden: false, inert: false }, 'after');
    await page.close();
  });
  await checks.that('leads: opened from a folder or without JavaScript, the page says what to do', async () => {
    const page = await browser.chromium.newPage();
    await page.goto(`file://${path.join(root, 'web/dist/index.html')}`);
    await page.waitForSelector('#unserved:not([hidden])');
    same((await page.$eval('#unserved', ({ textContent }) => textContent)).includes('python3 -m http.server'), true, 'from a folder');
    const visibleParts = await page.$$eval('.device, #tab-slice, #pair, #slice', (parts) => parts.filter((part) => part.checkVisibility()).length);
    same(visibleParts, 0, 'visible parts of a page that has not started');
    await page.setJavaScriptEnabled(false);
    await page.goto(browser.origin);
    same((await page.evaluate(() => document.querySelector('noscript').textContent)).includes('needs JavaScript'), true, 'without JavaScript');
    await page.close();
  });
}
