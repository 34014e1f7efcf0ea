// Handles requests that arrive faster than they can be processed, such as at every key press.

// Returns a function that runs one call of `task` at a time. If several calls arrive in the meantime, only the last one
// runs.
export function latest(task) {
  let running = false;
  let nextArgs = null;
  return async (...args) => {
    nextArgs = args;
    if (running) return;
    running = true;
    try {
      while (nextArgs) {
        const callArgs = nextArgs;
        nextArgs = null;
        await task(...callArgs);
      }
    } finally {
      running = false;
    }
  };
}
