// The last tab: random cases and golden vectors.

import { Vectors, random_case } from './pkg/wgslice_web.js';
import { address, fromAddress, parameters } from './address.js';
import { devices } from './devices.js';

const $ = (id) => document.getElementById(id);

// The maximum number of cases that run on the device at the same time.
const IN_FLIGHT = 8;
// The maximum number of failures that are listed, and the number of failures after which a run stops.
const [MAX_LISTED, MAX_FAILURES] = [20, 200];
const MAX_CASES = 10_000_000;

const DEFAULTS = { seed: '1', count: '500' };

let running = null;

function showError(message) {
  $('verify-error').textContent = message ?? '';
  $('verify-error').hidden = message === null;
}

function listFailure(at, verdict) {
  const item = document.createElement('li');
  item.textContent = `case ${at}, ${verdict.op}: ${verdict.problem}`;
  item.appendChild(document.createElement('pre')).textContent = verdict.line;
  $('failures').append(item);
}

// Calls `runCase` with the numbers from 0 to `total`, exclusive, and shows the counts. Ends after the last case, after
// MAX_FAILURES failures, or when the run is stopped.
async function run(title, total, runCase) {
  if (running) return;
  showError(null);
  const run = { stopped: false, passed: 0, failed: 0, next: 0, start: performance.now() };
  running = run;
  $('failures').replaceChildren();
  $('score').hidden = false;
  $('verify-what').textContent = `${title} on ${devices.chosen.label}`;
  $('verify').dataset.state = 'running';
  $('verify-state').textContent = '';
  $('progress').max = total;
  for (const button of ['run', 'vectors']) $(button).disabled = true;
  $('stop').disabled = false;
  $('device').disabled = true;

  const seconds = () => (performance.now() - run.start) / 1000;
  const draw = () => {
    const done = run.passed + run.failed;
    $('passed').value = run.passed.toLocaleString('en');
    $('failed').value = run.failed.toLocaleString('en');
    $('failed').className = `count ${run.failed ? 'bad' : ''}`;
    $('rate-of-cases').value = Math.round(done / Math.max(seconds(), 0.001)).toLocaleString('en');
    $('progress').value = done;
  };
  let lastDrawn = 0;
  const worker = async () => {
    while (!run.stopped && run.next < total && run.failed < MAX_FAILURES) {
      const at = run.next++;
      const verdict = await runCase(at);
      if (verdict.problem === undefined) run.passed++;
      else if (++run.failed <= MAX_LISTED) listFailure(at, verdict);
      if (performance.now() - lastDrawn > 60) {
        draw();
        // The browser can draw only while a timer is awaited; awaiting promises alone does not let it.
        await new Promise((resolve) => setTimeout(resolve));
        lastDrawn = performance.now();
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error;
    run.stopped = true;
    showError(error.message);
  }
  draw();
  const done = run.passed + run.failed;
  const ending = done === total ? 'Done' : `Stopped after ${done} of ${total}`;
  $('verify-state').textContent = `${ending}: ${run.passed} passed, ${run.failed} failed in ${seconds().toFixed(1)} s.`;
  $('stop').disabled = true;
  for (const button of ['run', 'vectors', 'device']) $(button).disabled = false;
  running = null;
  // This comes last, because it shows the checks in web/tests that the next run can start.
  $('verify').dataset.state = done === total ? 'done' : 'stopped';
}

function parseInteger(name, text, max) {
  const number = /^\s*\d[\d_]*\s*$/.test(text) ? BigInt(text.replaceAll('_', '')) : -1n;
  if (number < 0n || number > max) throw new Error(`${name} must be an integer from 0 to ${max}`);
  return number;
}

function runRandom() {
  const { device } = devices.chosen;
  try {
    const seed = parseInteger('the seed', $('seed').value, 2n ** 64n - 1n);
    const count = Number(parseInteger('the number of cases', $('count').value, BigInt(MAX_CASES)));
    run(`${count} random cases of seed ${seed}`, count, (at) => random_case(device, seed, at));
  } catch (error) {
    showError(error.message);
  }
}

function runVectors(name, text) {
  const { device } = devices.chosen;
  let vectors;
  try {
    vectors = new Vectors(text);
  } catch (error) {
    showError(`${name}: ${error.message}`);
    return;
  }
  run(`${vectors.length} golden vectors of ${name}`, vectors.length, (at) => vectors.run(device, at));
}

let linkedPath = parameters.get('vectors');

export function connect(isOpen) {
  if (isOpen) Object.entries(fromAddress(DEFAULTS)).forEach(([key, value]) => { $(key).value = value; });
  for (const key of Object.keys(DEFAULTS)) $(key).addEventListener('input', link);
  $('run').addEventListener('click', runRandom);
  $('stop').addEventListener('click', () => {
    if (running) running.stopped = true;
  });
  $('vectors').addEventListener('change', async () => {
    const [file] = $('vectors').files;
    if (!file) return;
    const text = await file.text();
    // Resets the input, so that the same file can be chosen again.
    $('vectors').value = '';
    runVectors(file.name, text);
  });
}

export const link = () => address('verify', { seed: $('seed').value, count: $('count').value }, DEFAULTS);

// Runs the vector file that the parameter `vectors` of the page's address names.
async function runLinked(path) {
  const url = new URL(path, location.href);
  if (url.origin !== location.origin) {
    showError('a vector file that the address names must be on the server of this page');
    return;
  }
  const response = await fetch(url);
  if (response.ok) runVectors(path, await response.text());
  else showError(`${path}: ${response.status} ${response.statusText}`);
}

export function opened() {
  link();
  if (linkedPath) runLinked(linkedPath);
  linkedPath = null;
}
