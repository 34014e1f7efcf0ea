// Runs and counts checks, and compares results.

import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';

export class Checks {
  #passed = 0;
  #failed = 0;
  #namePart;

  constructor(namePart) {
    this.#namePart = namePart;
  }

  // A check passes if it ends without an exception. It can return a text to print, such as its counts.
  async that(name, check) {
    if (!name.includes(this.#namePart)) return;
    const start = Date.now();
    try {
      const note = await check();
      this.#passed++;
      console.log(`ok      ${name}${note ? `: ${note}` : ''} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      this.fail(name, error);
    }
  }

  fail(name, error) {
    this.#failed++;
    console.log(`FAILED  ${name}: ${error.stack ?? error}`);
  }

  end() {
    console.log(`${this.#passed} passed, ${this.#failed} failed`);
    process.exitCode = this.#failed || !this.#passed ? 1 : 0;
  }
}

// Fails if the values differ. `description` says in the error what they are.
export function same(actual, expected, description) {
  if (isDeepStrictEqual(actual, expected)) return;
  const text = (value) => JSON.stringify(value)?.slice(0, 400);
  throw new Error(`${description}: expected ${text(expected)}, got ${text(actual)}`);
}

// Fails if the bytes differ. The error names the first byte that differs.
export function sameBytes(actual, expected, description) {
  same(actual.length, expected.length, `${description}, number of bytes`);
  const at = expected.findIndex((byte, at) => byte !== actual[at]);
  if (at >= 0) throw new Error(`${description}: byte ${at} is ${actual[at]}, expected ${expected[at]}`);
}

// Runs the command. Returns its exit code and its output, or, after a failure, its exit code and its error message.
export function wgslice(...args) {
  try {
    const stdout = execFileSync(process.env.WGSLICE, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    return { code: 0, stdout };
  } catch (error) {
    if (error.status === undefined || error.status === null) throw error;
    return { code: error.status, stderr: error.stderr };
  }
}
