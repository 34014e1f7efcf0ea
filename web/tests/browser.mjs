// Runs headless Chromium on the page, and a server for the page. Collects the page's errors, warnings and failed
// requests.

import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';
import puppeteer from 'puppeteer-core';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const MEDIA_TYPES = {
  '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.png': 'image/png',
  '.wasm': 'application/wasm', '.jsonl': 'application/jsonl', '.webp': 'image/webp',
};

// Chromium's switches for WebGPU on SwiftShader, its software renderer, and for a camera that shows a test picture.
const SWITCHES = [
  '--no-sandbox', '--enable-unsafe-webgpu', '--enable-features=Vulkan', '--use-webgpu-adapter=swiftshader',
  '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream',
];
// The maximum time in milliseconds that the browser may take to answer, even on a slow, busy machine.
const ANSWER_LIMIT = 120_000;
// More switches, which let a machine without a GPU display a WebGPU canvas: Mesa's OpenGL displays what SwiftShader
// computes.
export const DISPLAY_SWITCHES = ['--use-gl=angle', '--use-angle=gl-egl', '--use-vulkan=native', '--ignore-gpu-blocklist'];
const COMPRESSED_TYPES = ['.html', '.css', '.js', '.svg', '.wasm'];

// Serves the page and the golden vectors. Compresses the page's texts and WebAssembly as servers usually do.
// Counts the bytes that it sends.
function serve() {
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://page');
    const isVectors = pathname.startsWith('/vectors/');
    const file = path.join(root, isVectors ? 'tests' : 'web/dist', pathname.replace(/\/$/, '/index.html'));
    if (!fs.existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    const type = MEDIA_TYPES[path.extname(file)] ?? 'application/octet-stream';
    const isCompressed = COMPRESSED_TYPES.includes(path.extname(file));
    if (isCompressed && !server.compressedFiles.has(file)) {
      server.compressedFiles.set(file, zlib.gzipSync(fs.readFileSync(file), { level: 9 }));
    }
    const body = isCompressed ? server.compressedFiles.get(file) : fs.readFileSync(file);
    server.sentBytes += body.length;
    response.writeHead(200, { 'content-type': type, ...(isCompressed && { 'content-encoding': 'gzip' }) });
    response.end(body);
  });
  Object.assign(server, { sentBytes: 0, compressedFiles: new Map() });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

export class Browser {
  static async launch(moreSwitches = []) {
    const browser = new Browser();
    browser.server = await serve();
    browser.origin = `http://localhost:${browser.server.address().port}`;
    browser.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'wgslice-chromium-'));
    browser.chromium = await puppeteer.launch({
      executablePath: process.env.CHROMIUM,
      userDataDir: browser.profile,
      args: [...SWITCHES, ...moreSwitches],
      timeout: ANSWER_LIMIT,
      // A browser that no longer answers fails a check instead of hanging.
      protocolTimeout: ANSWER_LIMIT,
    });
    browser.version = await browser.chromium.version();
    const context = browser.chromium.defaultBrowserContext();
    await context.overridePermissions(browser.origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write', 'camera']);
    const session = await browser.chromium.target().createCDPSession();
    browser.downloads = path.join(browser.profile, 'saved');
    await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: browser.downloads });
    return browser;
  }

  // Opens the page. Waits until the open tab shows a result, unless it is the tab `verify`. `before` runs in the page
  // before the page's own scripts.
  async open(query = '', { before, width = 1200, height = 900, dark = false } = {}) {
    const page = await this.chromium.newPage();
    page.setDefaultTimeout(ANSWER_LIMIT);
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
    const problems = [];
    page.on('console', (message) => {
      if (['error', 'warn', 'assert'].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => problems.push(`uncaught: ${error}`));
    page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`));
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`);
      const url = new URL(response.url());
      const isOwn = ['blob:', 'data:'].includes(url.protocol) || url.origin === this.origin;
      if (!isOwn) problems.push(`request to ${url.origin}`);
    });
    if (before) await page.evaluateOnNewDocument(before);
    await page.goto(`${this.origin}/${query}`, { waitUntil: 'load' });
    const opened = new Page(page, problems, this.downloads);
    await page.waitForFunction(() => document.body.dataset.ready || !document.getElementById('stopped').hidden);
    const tab = await page.$eval('main > [role=tabpanel]:not([hidden])', ({ id }) => id);
    if (tab !== 'verify') await opened.until(tab, {});
    return opened;
  }

  async close() {
    await this.chromium.close();
    this.server.close();
    fs.rmSync(this.profile, { recursive: true, force: true });
  }
}

export class Page {
  constructor(page, problems, downloads) {
    this.page = page;
    this.problems = problems;
    this.downloads = downloads;
  }

  // Waits until a tab shows the result for this state. Fails if the page has stopped.
  async until(tab, state) {
    const isShownOrStopped = (tab, state) => {
      const { dataset } = document.getElementById(tab);
      const shows = JSON.parse(dataset.shows ?? 'null');
      const matches = shows && Object.entries(state).every(([name, value]) => shows[name] === value);
      return (dataset.state === 'done' && matches) || !document.getElementById('stopped').hidden;
    };
    try {
      await this.page.waitForFunction(isShownOrStopped, { polling: 30 }, tab, state);
    } catch {
      const shown = await this.page.$eval(`#${tab}`, ({ dataset }) => `${dataset.state}: ${dataset.shows}`);
      throw new Error(`${tab} never showed ${JSON.stringify(state)}, but is ${shown}; ${await this.text('error')} ${this.problems.join('; ')}`);
    }
    await this.running();
  }

  // Fails if the page has stopped.
  async running() {
    const stopped = await this.text('stopped');
    if (stopped) throw new Error(`${stopped} ${this.problems.join('; ')}`);
  }

  // Waits until all devices are measured, and returns the texts with their times.
  async times() {
    await this.page.waitForFunction(() => document.getElementById('times').dataset.state === 'measured');
    return this.page.$$eval('#times > div', (rows) => rows.map((row) => row.textContent));
  }

  // Waits until the text of an element contains `part`.
  waitForText(id, part) {
    return this.page.waitForFunction((id, part) => document.getElementById(id).textContent.includes(part), {}, id, part);
  }

  show(tab) {
    return this.page.click(`#tab-${tab}`);
  }

  // Sets inputs in order, with the events of typing, faster than the page can show the results.
  type(...changes) {
    return this.page.evaluate((changes) => {
      for (const [id, value] of changes.flatMap(Object.entries)) {
        const input = document.getElementById(id);
        if (input.type === 'checkbox') input.checked = value;
        else input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
      }
    }, changes);
  }

  // Sets inputs of a tab, named by their keys in the tab's state.
  fill(tab, state) {
    return this.page.evaluate((tab, state) => {
      for (const [key, value] of Object.entries(state)) {
        const input = document.querySelector(`#${tab} [data-key=${key}]`);
        if (input.type === 'checkbox') input.checked = value;
        else input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
      }
    }, tab, state);
  }

  // Clicks on an example of the open tab.
  example(name) {
    return this.page.$$eval('main > [role=tabpanel]:not([hidden]) .chips button', (chips, name) => {
      chips.find((chip) => chip.textContent.startsWith(name)).click();
    }, name);
  }

  // Returns the text of an element, or '' if the element itself is hidden. The element's tab need not be open.
  text(id) {
    return this.page.evaluate((id) => {
      const element = document.getElementById(id);
      return element.hidden ? '' : (element.value ?? element.textContent);
    }, id);
  }

  // Returns the position on the screen of the middle of a canvas pixel.
  async spot(id, row, column) {
    await this.page.$eval(`#${id}`, (canvas) => canvas.scrollIntoView({ block: 'center' }));
    return this.page.$eval(`#${id}`, (canvas, row, column) => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      return [left + (column + 0.5) * width / canvas.width, top + (row + 0.5) * height / canvas.height];
    }, row, column);
  }

  async hover(id, row, column) {
    await this.page.mouse.move(...await this.spot(id, row, column));
  }

  // Drags from one pixel of x to another, through a point between them.
  async drag(from, to) {
    const [start, end] = [await this.spot('source', ...from), await this.spot('source', ...to)];
    await this.page.mouse.move(...start);
    await this.page.mouse.down();
    await this.page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2);
    await this.page.mouse.move(...end);
    await this.page.mouse.up();
  }

  // Returns the opacity of the marks over the middle of each pixel of a canvas, from 0 to 255.
  covers(id) {
    return this.page.evaluate((id) => {
      const [canvas, marks] = [document.getElementById(id), document.getElementById(`${id}-marks`)];
      const copy = new OffscreenCanvas(marks.width, marks.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(marks, 0, 0);
      const { data } = copy.getImageData(0, 0, marks.width, marks.height);
      return Array.from({ length: canvas.width * canvas.height }, (_, at) => {
        const [column, row] = [at % canvas.width, Math.floor(at / canvas.width)];
        const [x, y] = [Math.floor((column + 0.5) * marks.width / canvas.width), Math.floor((row + 0.5) * marks.height / canvas.height)];
        return data[4 * (y * marks.width + x) + 3];
      });
    }, id);
  }

  // Saves the result, and returns the path of the file.
  async save(kind) {
    const file = path.join(this.downloads, `result.${kind}`);
    fs.rmSync(file, { force: true });
    await this.page.click(`#save-${kind}`);
    // The browser reserves the name with an empty file, and then moves the whole file there.
    const savedSize = () => fs.statSync(file, { throwIfNoEntry: false })?.size;
    for (const end = Date.now() + ANSWER_LIMIT; !savedSize();) {
      if (Date.now() > end) throw new Error(`${file} was not saved`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return file;
  }

  // Drops a file on a position of the screen, as from the desktop.
  async drop(file, x, y) {
    const session = await this.page.createCDPSession();
    const data = { items: [], files: [file], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop']) await session.send('Input.dispatchDragEvent', { type, x, y, data });
    await session.detach();
  }

  async choose(file) {
    await (await this.page.$('#file')).uploadFile(file);
  }

  // Returns the pixels and the size of a visible canvas.
  async pixels(id) {
    const { hidden, width, height, base64 } = await this.page.evaluate((id) => {
      const { width, height } = document.getElementById(id);
      const { hidden } = document.getElementById(id).parentElement;
      const { data } = document.getElementById(id).getContext('2d').getImageData(0, 0, width, height);
      let text = '';
      for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
      return { hidden, width, height, base64: btoa(text) };
    }, id);
    if (hidden) throw new Error(`the canvas ${id} is hidden`);
    return { width, height, data: new Uint8Array(Buffer.from(base64, 'base64')) };
  }

  // Closes the page. Fails if the page has reported problems.
  async close() {
    await this.page.close();
    if (this.problems.length) throw new Error(this.problems.join('\n'));
  }
}
