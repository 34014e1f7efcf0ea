// Work that is asked for faster than it is done, such as at every key.

// Runs one call of `task` at a time. Of the calls that come meanwhile, only the last is run.
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
