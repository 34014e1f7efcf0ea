// The two handles on the selection in x, for the steps along the rows and along the columns. Dragging a handle away
// from the start of the selection increases its step. Arrow keys, Home and End also move the handles.

const $ = (id) => document.getElementById(id);
const NAMES = ['rows', 'columns'];

// Distances in screen pixels: between a handle's positions for two successive steps, from the selection's start to the
// position for step 1, and the minimum from a handle to the edges of x.
const [STEP_DISTANCE, FIRST_DISTANCE, EDGE_DISTANCE] = [14, 26, 13];

// The handles that are shown, by name.
let handles = {};

// Places a handle for each of `steps`: `{ name, axis, step, maxStep, box }`. `box` is the selection, in pixels of x.
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
    const keepInside = (name, at) => Math.max(EDGE_DISTANCE, Math.min(sides[name][1] - EDGE_DISTANCE, at));
    const handlePosition = () => {
      const [first, size, isFlipped] = spans[name];
      const [scale] = sides[name];
      const distance = FIRST_DISTANCE + STEP_DISTANCE * (Math.abs(step.step) - 1);
      return isFlipped ? (first + size) * scale - distance : first * scale + distance;
    };
    const selectionEnd = (name) => (spans[name][0] + spans[name][1]) * sides[name][0];
    handle.style.top = `${keepInside('rows', name === 'rows' ? handlePosition() : selectionEnd('rows'))}px`;
    handle.style.left = `${keepInside('columns', name === 'columns' ? handlePosition() : selectionEnd('columns'))}px`;
    handle.textContent = Math.abs(step.step);
    handle.setAttribute('aria-valuenow', Math.abs(step.step));
    handle.setAttribute('aria-valuemax', step.maxStep);
  }
}

// Calls `change(axis, step)` when a handle moves.
export function connectSteps(change) {
  for (const name of NAMES) {
    const handle = $(`step-${name}`);
    const setStep = (size) => {
      const { axis, step, maxStep } = handles[name];
      const newSize = Math.max(1, Math.min(maxStep, size));
      if (newSize !== Math.abs(step)) change(axis, step < 0 ? -newSize : newSize);
    };
    let dragStart = null;
    const pointerPosition = (event) => (name === 'rows' ? event.clientY : event.clientX);
    handle.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      dragStart = { position: pointerPosition(event), step: Math.abs(handles[name].step) };
      handle.setPointerCapture(event.pointerId);
    });
    handle.addEventListener('pointermove', (event) => {
      if (!dragStart || !handles[name]) return;
      const addedSteps = (pointerPosition(event) - dragStart.position) / STEP_DISTANCE;
      setStep(dragStart.step + Math.round(handles[name].step < 0 ? -addedSteps : addedSteps));
    });
    for (const end of ['pointerup', 'pointercancel']) handle.addEventListener(end, () => { dragStart = null; });
    handle.addEventListener('keydown', (event) => {
      const currentSize = Math.abs(handles[name].step);
      const sizeByKey = {
        ArrowUp: currentSize + 1, ArrowRight: currentSize + 1, ArrowDown: currentSize - 1, ArrowLeft: currentSize - 1,
        Home: 1, End: handles[name].maxStep,
      };
      if (!(event.key in sizeByKey)) return;
      event.preventDefault();
      setStep(sizeByKey[event.key]);
    });
  }
}
