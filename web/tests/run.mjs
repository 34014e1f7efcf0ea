// Runs all checks. The script `run` builds what they need and then runs this file.

import fs from 'node:fs';
import { Browser } from './browser.mjs';
import { Checks } from './checks.mjs';
import { cases } from './cases.mjs';
import { explains } from './explains.mjs';
import { gathers } from './gathers.mjs';
import { leads } from './leads.mjs';
import { looks } from './looks.mjs';
import { operations } from './operations.mjs';
import { slices } from './slices.mjs';
import { without_webgpu } from './without_webgpu.mjs';

const [screenshot] = process.argv.slice(2);
const checks = new Checks(process.env.CHECKS ?? '');
const browser = await Browser.launch();
console.log(`${browser.version}, ${process.env.CHROMIUM}`);
try {
  for (const group of [slices, explains, gathers, operations, leads, without_webgpu, cases]) await group(checks, browser);
  await looks(checks, browser, screenshot);
  if (screenshot) {
    await checks.that('the screenshot has at most 250 kB', () => {
      const { size } = fs.statSync(screenshot);
      if (size > 250_000) throw new Error(`${size} bytes`);
    });
  }
} catch (error) {
  checks.fail('the checks run to their end', error);
} finally {
  await browser.close();
}
checks.end();
