// Fits phones, can be used by keys, and has a picture of it taken.

import { same } from './checks.mjs';

const TABS = ['slice', 'gather', 'verify'];

export async function looks(checks, browser, screenshot) {
  await checks.that('looks: nothing is wider than a phone', async () => {
    const page = await browser.open('', undefined, { width: 360, height: 740 });
    for (const tab of TABS) {
      await page.show(tab);
      same(await page.page.evaluate(() => document.documentElement.scrollWidth), 360, `width of ${tab}`);
    }
    await page.close();
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
    const page = await browser.open('', undefined, { width: 1120, height: 1000 });
    await page.page.screenshot({ path: screenshot, optimizeForSpeed: false });
    await page.close();
  });
}
