// Fits phones, can be used by keys, and has a picture of it taken.

import { same } from './checks.mjs';

const TABS = ['slice', 'gather', 'verify'];

export async function looks(checks, browser, screenshot) {
  await checks.that('looks: nothing is wider than a phone', async () => {
    // With the advice, too.
    for (const before of [undefined, () => delete Navigator.prototype.gpu]) {
      const page = await browser.open('', before, { width: 360, height: 740 });
      for (const tab of TABS) {
        await page.show(tab);
        same(await page.page.evaluate(() => document.documentElement.scrollWidth), 360, `width of ${tab}`);
      }
      await page.close();
    }
  });
  await checks.that('looks: tabs by arrow keys', async () => {
    const page = await browser.open();
    await page.page.focus('#tab-slice');
    for (const tab of ['gather', 'verify', 'slice']) {
      await page.page.keyboard.press('ArrowRight');
      const seen = await page.page.evaluate((tabs) => tabs.filter((tab) => !document.getElementById(tab).hidden), TABS);
      same(seen, [tab], 'tabs to be seen');
    }
    await page.close();
  });
  if (!screenshot) return;
  await checks.that('looks: the screenshot', async () => {
    const page = await browser.open('?spec=32:288,%20400:100:-1,%20...', undefined, { width: 1120, height: 1180 });
    // The first call compiles the shader, and its time is not that of a slice.
    await page.type({ spec: '::2' });
    await page.until('slice', { spec: '::2' });
    await page.type({ spec: '32:288, 400:100:-1, ...' });
    await page.until('slice', { spec: '32:288, 400:100:-1, ...' });
    const main = await page.page.$('main');
    const { y, height } = await main.boundingBox();
    const clip = { x: 0, y: 0, width: 1120, height: y + height };
    const quality = screenshot.endsWith('.png') ? {} : { quality: 85 };
    await page.page.screenshot({ path: screenshot, clip, ...quality });
    await page.close();
  });
}
