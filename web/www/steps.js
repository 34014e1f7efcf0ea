// Two handles on the selection in x. Dragging a handle away from the start of the selection increases the step along
// the rows or the columns. Arrow keys, Home and End also move the handles.

const $ = (id) => document.getElementById(id);
const NAMES = ['rows', 'columns'];

// Distances of a handle in screen pixels: between two steps, from the start of the selection to step 1, and at least
// from the edge of x.
const [APART, FIRST, EDGE] = [14, 26, 13];

// The handles that are shown, by name.
let handles = {};

// Places a handle for each of `steps`: `{ name, axis, step, most, box }`. `box` is the selection, in pixels of x.
export function placeSteps(steps) {
  const canvas = $('source');
  const frame = canvas.parentElement;
  const sides = { rows: [frame.clientHeight / canvas.height, frame.clientHeight], columns: [frame.clientWidth / canvas.width, frame.clientWidth] };
  handles = Object.fromEntries(steps.map((step) => [step.name, step]));
  for (const name of NAMES) {
    const handle = $(`step-${name}`);
    const step = handles[name];
    handle.hidden = !step;
    if (!step) continue;
    const { top, left, height, width, flips } = step.box;
    const spans = { rows: [top, height, flips.v], columns: [left, width, flips.h] };
    const within = (name, at) => Math.max(EDGE, Math.min(sides[name][1] - EDGE, at));
    const along = () => {
      const [first, size, flipped] = spans[name];
      const [scale] = sides[name];
      const distance = FIRST + APART * (Math.abs(step.step) - 1);
      return flipped ? (first + size) * scale - distance : first * scale + distance;
    };
    const across = (name) => (spans[name][0] + spans[name][1]) * sides[name][0];
    handle.style.top = `${within('rows', name === 'rows' ? along() : across('rows'))}px`;
    handle.style.left = `${within('columns', name === 'columns' ? along() : across('columns'))}px`;
    handle.textContent = Math.abs(step.step);
    handle.setAttribute('aria-valuenow', Math.abs(step.step));
    handle.setAttribute('aria-valuemax', step.most);
  }
}

// Calls `change(axis, step)` when a handle moves.
export function connectSteps(change) {
  for (const name of NAMES) {
    const handle = $(`step-${name}`);
    const go = (size) => {
      const { axis, step, most } = handles[name];
      const next = Math.max(1, Math.min(most, size));
      if (next !== Math.abs(step)) change(axis, step < 0 ? -next : next);
    };
    let from = null;
    const place = (event) => (name === 'rows' ? event.clientY : event.clientX);
    handle.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      from = { place: place(event), step: Math.abs(handles[name].step) };
      handle.setPointerCapture(event.pointerId);
    });
    handle.addEventListener('pointermove', (event) => {
      if (!from || !handles[name]) return;
      const moved = (place(event) - from.place) / APART;
      go(from.step + Math.round(handles[name].step < 0 ? -moved : moved));
    });
    for (const end of ['pointerup', 'pointercancel']) handle.addEventListener(end, () => { from = null; });
    handle.addEventListener('keydown', (event) => {
      const now = Math.abs(handles[name].step);
      const sizes = { ArrowUp: now + 1, ArrowRight: now + 1, ArrowDown: now - 1, ArrowLeft: now - 1, Home: 1, End: handles[name].most };
      if (!(event.key in sizes)) return;
      event.preventDefault();
      go(sizes[event.key]);
    });
  }
}
