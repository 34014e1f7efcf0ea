// Handles requests that arrive faster than they can be processed, such as at every key press.

// Runs one call of `task` at a time. Of the calls that arrive in the meantime, only the last is run.
export function latest(task) {
  let running = false;
  let next = null;
  return async (...given) => {
    next = given;
    if (running) return;
    running = true;
    try {
      while (next) {
        const now = next;
        next = null;
        await task(...now);
      }
    } finally {
      running = false;
    }
  };
}
