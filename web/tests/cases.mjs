// Checks the tab `verify`: random cases, and golden vectors from a file and from an address.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from './browser.mjs';
import { same } from './checks.mjs';
import { folder } from './npy.mjs';

const CASE_COUNT = process.env.WGSLICE_CASES ?? '2000';
const VECTORS_PATH = 'vectors/seed1.jsonl';
const readVectors = () => fs.readFileSync(path.join(root, 'tests', VECTORS_PATH), 'utf8').split('\n').filter(Boolean);

// Waits for the end of a run. Returns its counts, its failures as the page lists them, and its summary.
export async function waitForEnd(page) {
  const hasBegun = () => document.getElementById('verify').dataset.state || !document.getElementById('verify-error').hidden;
  await page.page.waitForFunction(hasBegun);
  const error = await page.text('verify-error');
  if (error) throw new Error(error);
  // A run can take longer than the time limit for an answer of the browser, so the page is asked repeatedly.
  const isOver = () => document.getElementById('verify').dataset.state === 'done' || !document.getElementById('stopped').hidden;
  let doneCases = -1;
  for (let lastProgress = Date.now(); !await page.page.evaluate(isOver); await new Promise((resolve) => setTimeout(resolve, 50))) {
    const doneNow = await page.page.$eval('#progress', ({ value }) => value);
    if (doneNow !== doneCases) [doneCases, lastProgress] = [doneNow, Date.now()];
    else if (Date.now() - lastProgress > 120_000) throw new Error(`no case ended in two minutes, after ${doneCases}`);
  }
  await page.running();
  const [passed, failed] = [await page.text('passed'), await page.text('failed')];
  const counts = [passed, failed].map((text) => Number(text.replaceAll(',', '')));
  const listed = await page.page.$$eval('#failures li', (items) => items.map((item) => item.textContent));
  return { passed: counts[0], failed: counts[1], listed, summary: await page.text('verify-state') };
}

export async function runRandom(page, seed, count) {
  await page.page.evaluate(() => delete document.getElementById('verify').dataset.state);
  await page.type({ seed: String(seed), count: String(count) });
  await page.page.click('#run');
  return waitForEnd(page);
}

async function runFile(page, file) {
  await page.page.evaluate(() => delete document.getElementById('verify').dataset.state);
  await (await page.page.$('#vectors')).uploadFile(file);
  return waitForEnd(page);
}

const allPassed = ({ passed, failed, listed }, count) => {
  same(listed, [], 'failures');
  same([passed, failed], [Number(count), 0], 'passed and failed');
};

export async function cases(checks, browser) {
  const page = await browser.open('?tab=verify');
  await checks.that('verify: a seed gives the same cases as the command', async () => {
    const [seed, count] = [20261123, 300];
    const expected = execFileSync(process.env.RANDOM_CASES, [seed, count].map(String), { encoding: 'utf8', maxBuffer: 1 << 28 });
    const actual = await page.page.evaluate(async (seed, count) => {
      const { random_line } = await import('./pkg/wgslice_web.js');
      return Array.from({ length: count }, (_, number) => random_line(BigInt(seed), number));
    }, seed, count);
    const lines = expected.trimEnd().split('\n');
    same(actual.length, lines.length, 'number of cases');
    for (const [number, line] of lines.entries()) same(actual[number], line, `case ${number}`);
    return `${count} cases`;
  });
  await checks.that(`verify: ${CASE_COUNT} random cases`, async () => {
    // Each run has another seed, so many cases are covered over time. The lines of failing cases are printed.
    const seed = Math.floor(Date.now() / 1000);
    const run = await runRandom(page, seed, CASE_COUNT);
    allPassed(run, CASE_COUNT);
    return `seed ${seed}: ${run.summary}`;
  });
  await checks.that('verify: a wrong expected value in a file is found and listed', async () => {
    const lines = readVectors().slice(0, 40);
    const at = lines.findIndex((line) => JSON.parse(line).expected?.data.length > 3);
    const wrong = JSON.parse(lines[at]);
    wrong.expected.data[2] += 1;
    lines[at] = JSON.stringify(wrong);
    const file = path.join(folder, 'wrong.jsonl');
    fs.writeFileSync(file, lines.join('\n'));
    const { passed, failed, listed } = await runFile(page, file);
    same([passed, failed, listed.length], [39, 1, 1], 'passed, failed, listed');
    same(listed[0].startsWith(`case ${at}, ${wrong.op}: `), true, listed[0]);
  });
  await checks.that('verify: the page shows why it cannot run something', async () => {
    for (const [inputs, errorPart] of [[{ seed: '-1' }, 'seed'], [{ seed: '1', count: 'x' }, 'number of cases'], [{ seed: '18446744073709551616', count: '1' }, 'seed']]) {
      await page.type(inputs);
      await page.page.click('#run');
      const error = await page.text('verify-error');
      if (!error.includes(errorPart)) throw new Error(`${JSON.stringify(inputs)}: ${error}`);
    }
    const file = path.join(folder, 'bad.jsonl');
    fs.writeFileSync(file, '{"op": "slice"}\n');
    await (await page.page.$('#vectors')).uploadFile(file);
    await page.page.waitForFunction(() => document.getElementById('verify-error').textContent.includes('bad.jsonl: line 1: '));
  });
  await checks.that('verify: a run can be stopped', async () => {
    await page.type({ seed: '1', count: '1000000' });
    await page.page.click('#run');
    await page.page.waitForFunction(() => Number(document.getElementById('passed').value) > 3);
    await page.page.click('#stop');
    await page.page.waitForFunction(() => document.getElementById('verify').dataset.state === 'stopped');
    const summary = await page.text('verify-state');
    same(summary.startsWith('Stopped after ') && summary.includes(' 0 failed'), true, summary);
  });
  await checks.that('verify: the page reports no problem', () => page.close());

  await checks.that('verify: TensorFlow’s vectors, named in the address', async () => {
    const page = await browser.open(`?tab=verify&vectors=${VECTORS_PATH}`);
    const run = await waitForEnd(page);
    allPassed(run, readVectors().length);
    await page.close();
    return run.summary;
  });
}
