// Compares the tab for gathers with the command: values and reports.

import path from 'node:path';
import { same, sameBytes, wgslice } from './checks.mjs';
import * as npy from './npy.mjs';

const PICTURE_TUPLES = ['100\n120\n140\n600\n160\n-1\n180\n200', '0; 511; 5', '100, 200\n511 511\n-1 0\n(3, 512)', '[4294967436]\n140\n-4294967156'];
const TABLE_TUPLES = ['5\n0\n6\n-1\n2', '0, 0\n5, 3\n5, 4\n2, 1', '-6\n-7\n9223372036854775807\n-9223372036854775808\n3'];

const POLICIES = [['ignore', false], ['ignore', true], ['clamp', false], ['clamp', true], ['error', false], ['error', true]];

const indicesOf = (text) => text.split(/[\n;]/).map((line) => line.match(/-?\d+/g).map(BigInt));

// Returns the result and the report of the command, or its error.
function gatherByCommand(params, tuples, policy, wrap) {
  const indices = indicesOf(tuples);
  const data = BigInt64Array.from(indices.flat());
  const file = npy.write('indices.npy', [indices.length, indices[0].length], data);
  const output = path.join(npy.folder, 'gathered.npy');
  const negative = ['--negative', wrap ? 'wrap' : 'out-of-range'];
  const run = wgslice('gather-nd', params, file, '-o', output, '--out-of-range', policy, ...negative, '--json');
  if (run.code) return { error: run.stderr };
  return { result: npy.read(output), report: JSON.parse(run.stdout).out_of_range };
}

// Returns whether the page and the command give an error.
async function compare(page, from, params, tuples, [policy, wrap]) {
  const inputs = { from, tuples, policy, wrap };
  await page.type(inputs);
  await page.until('gather', inputs);
  const { error, result, report } = gatherByCommand(params, tuples, policy, wrap);
  const reportText = await page.text('report');
  if (error) {
    // The page and the command name the arrays, and the policies for tuples out of range, differently.
    const replacements = [
      [/“gives zeros”|--out-of-range ignore/g, 'ZERO'], [/“is clamped”|--out-of-range clamp/g, 'CLAMP'],
      [/\bastronaut\.npy \(512 × 512 × 3\)/g, 'x [512,512,3]'], [/\btable\.npy \(6 × 4\)/g, 'the table [6,4]'], [/indices\.npy\[/g, 'indices['],
    ];
    const comparable = (text) => replacements.reduce((text, [pattern, name]) => text.replace(pattern, name), text.split(/\s+/).join(' ').trim());
    const shown = comparable(await page.text('error'));
    if (!shown || !comparable(error).includes(shown)) throw new Error(`${shown}, but the command says ${error}`);
    return true;
  }
  same(await page.text('error'), '', 'error');
  same(await page.text('result-shape'), `${result.shape.join(' × ')}, ${from === 'table' ? 'int32' : 'uint8'}`, 'shape');
  if (report.bad) {
    const { row, index } = report.first;
    const start = `${report.bad} of ${report.rows} tuples`;
    const end = `number ${row}, counted from 0: [${index.join(', ')}].`;
    if (!reportText.startsWith(start) || !reportText.endsWith(end)) throw new Error(`${reportText}, expected ${start} … ${end}`);
  } else {
    same(reportText.startsWith(`All ${report.rows} tuples are in range`), true, reportText);
  }
  if (from === 'table') {
    const saved = npy.read(await page.save('npy'));
    same(saved, result, 'values');
  } else {
    const { data } = await page.pixels('result');
    sameBytes(data, npy.rgba(result, 3), 'pixels');
  }
  return false;
}

export async function gathers(checks, browser) {
  const page = await browser.open('?tab=gather');
  const photograph = await npy.photograph(page);
  const table = npy.write('table.npy', [6, 4], Int32Array.from({ length: 24 }, (_, at) => 10 * Math.floor(at / 4) + (at % 4)));
  for (const [from, params, texts] of [['x', photograph, PICTURE_TUPLES], ['table', table, TABLE_TUPLES]]) {
    for (const tuples of texts) {
      await checks.that(`gather: from the ${from} at ${tuples.replaceAll('\n', '; ')}`, async () => {
        let errorCount = 0;
        for (const policy of POLICIES) errorCount += await compare(page, from, params, tuples, policy);
        return `${POLICIES.length} policies, ${errorCount} of them an error`;
      });
    }
  }
  await checks.that('gather: the errors of invalid tuples', async () => {
    await page.type({ from: 'table', policy: 'ignore', wrap: false });
    const texts = [['', 'at least one'], ['1\n2, 3', 'tuple 2 has 2 indices, but the first has 1: all tuples must have the same length'], ['1\ntwo', '"two"'], ['9223372036854775808', '64 bits'], ['0, 0, 0', 'tuples of 3']];
    for (const [tuples, errorPart] of texts) {
      await page.type({ tuples });
      await page.until('gather', { tuples, from: 'table' });
      const error = await page.text('error');
      if (!error.includes(errorPart)) throw new Error(`${tuples}: ${error}`);
    }
  });
  await checks.that('gather: the page reports no problem', () => page.close());
}
