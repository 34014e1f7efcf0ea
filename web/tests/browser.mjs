// Headless Chromium on the page, and a server for it. Whatever goes wrong in the background is kept.

import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const photograph = path.join(root, 'tests/data/astronaut.png');

const TYPES = {
  '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.png': 'image/png',
  '.wasm': 'application/wasm', '.jsonl': 'application/jsonl',
};

// Puppeteer's own switches, and WebGPU on SwiftShader, which Chromium brings along.
const SWITCHES = ['--no-sandbox', '--enable-unsafe-webgpu', '--enable-features=Vulkan', '--use-webgpu-adapter=swiftshader'];

// The page, and beside it the golden vectors.
function serve() {
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://page');
    const vectors = pathname.startsWith('/vectors/');
    const file = path.join(root, vectors ? 'tests' : 'web/dist', pathname.replace(/\/$/, '/index.html'));
    if (!fs.existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
    fs.createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

export class Browser {
  static async launch() {
    const made = new Browser();
    made.server = await serve();
    made.origin = `http://localhost:${made.server.address().port}`;
    made.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'wgslice-chromium-'));
    made.chromium = await puppeteer.launch({
      executablePath: process.env.CHROMIUM,
      userDataDir: made.profile,
      args: SWITCHES,
      // Long runs are one evaluation each.
      protocolTimeout: 1_800_000,
    });
    made.version = await made.chromium.version();
    return made;
  }

  // Opens the page and waits until its first slice is there. `before` runs in the page ahead of its own scripts.
  async open(query = '', before = undefined, size = { width: 1200, height: 900 }) {
    const page = await this.chromium.newPage();
    await page.setViewport(size);
    const problems = [];
    page.on('console', (message) => {
      if (['error', 'warn', 'assert'].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => problems.push(`uncaught: ${error}`));
    page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`));
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`);
      const from = new URL(response.url());
      const own = ['blob:', 'data:'].includes(from.protocol) || from.origin === this.origin;
      if (!own) problems.push(`request to ${from.origin}`);
    });
    if (before) await page.evaluateOnNewDocument(before);
    await page.goto(`${this.origin}/${query}`, { waitUntil: 'load' });
    const opened = new Page(page, problems);
    await opened.until('slice', {});
    return opened;
  }

  async close() {
    await this.chromium.close();
    this.server.close();
    fs.rmSync(this.profile, { recursive: true, force: true });
  }
}

export class Page {
  constructor(page, problems) {
    this.page = page;
    this.problems = problems;
  }

  // Waits until a tab is done with what was typed in, or the page has stopped.
  async until(tab, typed, state = 'done', timeout = 60_000) {
    const done = (tab, typed, state) => {
      const { dataset } = document.getElementById(tab);
      const is = Object.entries(typed).every(([name, value]) => dataset[name] === value);
      return (dataset.state === state && is) || !document.getElementById('stopped').hidden;
    };
    await this.page.waitForFunction(done, { timeout, polling: 50 }, tab, typed, state);
    const stopped = await this.text('stopped');
    if (stopped) throw new Error(`${stopped} ${this.problems.join('; ')}`);
  }

  show(tab) {
    return this.page.click(`#tab-${tab}`);
  }

  // Sets inputs as a person would, one after the other faster than the page can show them.
  type(...given) {
    return this.page.evaluate((given) => {
      for (const [id, value] of given.flatMap(Object.entries)) {
        const input = document.getElementById(id);
        if (input.type === 'checkbox') input.checked = value;
        else input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
      }
    }, given);
  }

  // The text of an element, or nothing if it is not to be seen. What is in a tab that is not open counts as seen.
  text(id) {
    return this.page.evaluate((id) => {
      const element = document.getElementById(id);
      return element.hidden ? '' : (element.value ?? element.textContent);
    }, id);
  }

  // The pixels of a canvas that is shown, and its size.
  async pixels(id) {
    const { hidden, width, height, base64 } = await this.page.evaluate((id) => {
      const { hidden, width, height } = document.getElementById(id);
      const { data } = document.getElementById(id).getContext('2d').getImageData(0, 0, width, height);
      let text = '';
      for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
      return { hidden, width, height, base64: btoa(text) };
    }, id);
    if (hidden) throw new Error(`the canvas ${id} is hidden`);
    return { width, height, data: new Uint8Array(Buffer.from(base64, 'base64')) };
  }

  // The page made no complaint, and is closed.
  async close() {
    await this.page.close();
    if (this.problems.length) throw new Error(this.problems.join('\n'));
  }
}
