// Checks browsers without WebGPU: the page tells what to do, and runs on the CPU.

import { runRandom } from './cases.mjs';
import { same } from './checks.mjs';

const BROWSERS = [
  ['without navigator.gpu', 'This browser offers no WebGPU.', () => delete Navigator.prototype.gpu],
  ['without an adapter', 'The browser has WebGPU, but it cannot be used: no adapter found: use a browser with WebGPU', () => {
    GPU.prototype.requestAdapter = async () => null;
  }],
];

export async function without_webgpu(checks, browser) {
  for (const [name, why, before] of BROWSERS) {
    await checks.that(`${name}: the page gives advice and runs on the CPU`, async () => {
      const page = await browser.open('?spec=::-4,%20::3', { before });
      const advice = await page.text('advice-why');
      same(advice.startsWith(why), true, advice);
      same((await page.text('advice')).includes('chrome://flags'), true, 'advice');
      const times = await page.times();
      same([times.length, times[0].startsWith('CPU')], [1, true], `times: ${times}`);
      same(await page.text('result-shape'), '128 × 171 × 3, uint8', 'shape');
      await page.show('verify');
      const { failed, passed, summary } = await runRandom(page, 5, 1000);
      same([passed, failed], [1000, 0], 'passed and failed');
      await page.close();
      return summary;
    });
  }
  await checks.that('another device gives the same pixels', async () => {
    const page = await browser.open();
    await page.type({ spec: '::-3, 7::2' });
    await page.until('slice', { spec: '::-3, 7::2' });
    const before = await page.pixels('result');
    await page.page.evaluate(() => delete document.getElementById('slice').dataset.state);
    await page.page.select('#device', '1');
    await page.until('slice', {});
    same(Buffer.compare((await page.pixels('result')).data, before.data), 0, 'pixels');
    await page.close();
  });
  await checks.that('after the device is lost, the page says so, and the CPU can be chosen', async () => {
    const before = () => {
      const request = GPUAdapter.prototype.requestDevice;
      GPUAdapter.prototype.requestDevice = async function (...args) {
        window.lost = await request.apply(this, args);
        return window.lost;
      };
    };
    const page = await browser.open('', { before });
    await page.page.evaluate(() => window.lost.destroy());
    await page.type({ spec: '::7' });
    await page.until('slice', { spec: '::7' });
    const error = await page.text('error');
    same(error.includes('lost'), true, error);
    await page.page.select('#device', '1');
    await page.type({ spec: '::9' });
    await page.until('slice', { spec: '::9' });
    same([await page.text('error'), await page.text('result-shape')], ['', '57 × 512 × 3, uint8'], 'error and shape');
    await page.close();
  });
}
