// Tracks where a person points on a picture, by mouse, by touch, or by keys. Arrow keys move a cross, with Shift by one
// pixel. Space or Enter begins and ends a drag; Escape ends pointing.

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// Calls `over(pixel, byKeys)` with the pixel that is pointed at (null for none), and `drag(from, to, hasEnded)` while a
// drag goes from one pixel to another. `canvas` is the picture, and `element` covers it.
export function pointing(element, canvas, { over, drag }) {
  let from = null;
  let cross = null;
  const clamp = (at, size) => Math.max(0, Math.min(size - 1, at));
  const pixelAt = (event) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return {
      row: clamp(Math.floor((event.clientY - top) / height * canvas.height), canvas.height),
      column: clamp(Math.floor((event.clientX - left) / width * canvas.width), canvas.width),
    };
  };
  const leave = () => {
    from = cross = null;
    over(null);
    document.body.classList.remove('keeps-error');
  };
  element.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    from = pixelAt(event);
    // If the drag clears an error above the picture, the picture must not move away under the pointer.
    document.body.classList.toggle('keeps-error', !document.getElementById('error').hidden);
    // A pointer that a test simulates cannot be captured.
    try { element.setPointerCapture(event.pointerId); } catch { /* The drag then ends at the picture's edge. */ }
    drag(from, from, false);
  });
  element.addEventListener('pointermove', (event) => {
    cross = pixelAt(event);
    over(cross);
    if (from) drag(from, cross, false);
  });
  element.addEventListener('pointerup', (event) => {
    if (from) drag(from, pixelAt(event), true);
    from = null;
    document.body.classList.remove('keeps-error');
  });
  element.addEventListener('pointercancel', leave);
  element.addEventListener('pointerleave', () => from ?? leave());
  element.addEventListener('blur', leave);
  element.addEventListener('keydown', (event) => {
    const step = STEPS[event.key];
    if (step) {
      const size = (length) => (event.shiftKey ? 1 : Math.max(1, Math.round(length / 32)));
      cross ??= { row: canvas.height >> 1, column: canvas.width >> 1 };
      cross = {
        row: clamp(cross.row + step[0] * size(canvas.height), canvas.height),
        column: clamp(cross.column + step[1] * size(canvas.width), canvas.width),
      };
      over(cross, true);
      if (from) drag(from, cross, false);
    } else if ([' ', 'Enter'].includes(event.key) && cross) {
      drag(from ?? cross, cross, from !== null);
      from = from ? null : cross;
    } else if (event.key === 'Escape') leave();
    else return;
    event.preventDefault();
  });
}
