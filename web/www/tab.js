// A tab with an operation: its inputs are its state, and the address contains the state. Runs the operation when the
// state or the page's array, x, changes. Shows the result, and times the operation on each device.

import { address, fromAddress } from './address.js';
import { devices, liveCanvas } from './devices.js';
import { captureFrame, stopCamera } from './inputs.js';
import { latest } from './latest.js';
import * as pair from './pair.js';
import { showSnippets } from './snippets.js';
import { shownAs, source } from './source.js';

const $ = (id) => document.getElementById(id);

// The maximum number of values that are shown as text.
const MAX_TEXT_VALUES = 600;
// A colour picture with at most this many values also shows them as text.
const MAX_PICTURE_VALUES = 48;
// The pause in milliseconds before calls are timed.
const PAUSE = 180;
// Calls are timed until they took ENOUGH_TIME milliseconds in total, but at least MIN_CALLS and at most MAX_CALLS
// calls.
const [ENOUGH_TIME, MIN_CALLS, MAX_CALLS] = [40, 3, 100];

// Returns the shape of an array, and its layout on a canvas of its own.
const shapeAndLayout = ({ shape, height, width, channels }) => ({ shape: [...shape], height, width, channels });

// Returns whether an error is a panic of the library. Typed input never causes a panic.
const isFault = (error) => error instanceof WebAssembly.RuntimeError;

// The library's messages contain names of options in Rust. The page has other names for these options.
const POLICY_NAMES = { Ignore: '“gives zeros”', Clamp: '“is clamped”', Error: '“is an error”' };
const COMBINE_NAMES = { Sub: '-=', Mul: '*=', Min: 'minimum', Max: 'maximum' };
const messageForPage = (message, params) => message
  .replace(/^\S+ under Combine::(\w+) computes with elements, but the shaders cannot compute with u8:/,
    (_, name) => `shaders cannot combine uint8 by “${COMBINE_NAMES[name] ?? name}”:`)
  .replace(/OutOfRange::(\w+)/g, (name, option) => POLICY_NAMES[option] ?? name)
  .replace(/strides\[(\d+)\] is 0/, 'the stride of dimension $1 is 0')
  .replace('`index` takes them: Backend::index', '`wgslice index` takes them')
  .replace(/run it on the CPU \(Backend::cpu\).*$/, 'choose the CPU as the device')
  .replace(/\bparams\b/g, params);

export class Operation {
  // `about` has
  //   name, defaults        the panel's id, and the initial state
  //   input(device, state)  returns the operation's input; by default x on this device
  //   run(input, state)     runs the operation; returns a promise of its outcome
  //   left(state)           returns the array in the left figure; by default x
  //   params(state)         returns the name of the input in messages; by default x
  //   range(read, state)    returns the values for the darkest and the brightest shade, or null for the default
  //   look(seen)            returns the marks and texts for `pair.show`
  //   film(canvas, x, state)  shows the result for a frame that stays on the GPU; only in tabs that support this
  //   drag(from, to, state, hasEnded)  returns the changes of the state for a drag on x
  //   programs(seen)        returns the snippets
  //   connect(operation)    connects the tab's other controls
  constructor(about) {
    this.about = { input: (device) => source.on(device), left: () => source.shown, params: () => 'x', ...about };
    this.name = about.name;
    this.state = { ...about.defaults };
    this.panel = $(about.name);
    // While frames stay on the GPU, an update runs nothing: the next frame shows the change.
    this.update = latest(() => this.keepsFramesOnGpu() || source.using(() => this.#update()));
    // The number of updates so far.
    this.updateCount = 0;
    // The last result, for saving it.
    this.read = null;
    // The state and the shape for which the marks over the camera frames were made, as text.
    this.marksKey = null;
  }

  connect(isOpen) {
    if (isOpen) Object.assign(this.state, fromAddress(this.about.defaults));
    for (const input of this.#inputs()) {
      const property = input.type === 'checkbox' ? 'checked' : 'value';
      input.addEventListener('input', () => this.set({ [input.dataset.key]: input[property] }));
    }
    this.#fill();
    this.about.connect?.(this);
  }

  // Changes the state, and updates what is shown.
  set(changes) {
    Object.assign(this.state, changes);
    this.#fill();
    return this.update();
  }

  drag(from, to, hasEnded) {
    const changes = this.about.drag?.(from, to, this.state, hasEnded);
    if (changes) this.set(changes);
  }

  link() {
    return address(this.name, this.state, this.about.defaults);
  }

  #inputs() {
    return this.panel.querySelectorAll('[data-key]');
  }

  #fill() {
    for (const input of this.#inputs()) {
      const value = this.state[input.dataset.key];
      if (input.type === 'checkbox') input.checked = value;
      else if (input.value !== value) input.value = value;
    }
    for (const chip of this.panel.querySelectorAll('.chips button')) {
      const sets = JSON.parse(chip.dataset.sets);
      chip.setAttribute('aria-pressed', String(Object.entries(sets).every(([key, value]) => this.state[key] === value)));
    }
  }

  // Returns whether the camera is on and its frames stay on the GPU.
  keepsFramesOnGpu() {
    return Boolean(source.live && this.about.film && liveCanvas());
  }

  // Shows the operation on a camera frame that stays on the GPU.
  async film(video) {
    const { panel } = this;
    const [canvas, state] = [liveCanvas(), { ...this.state }];
    // Some browsers cannot copy a video to a texture directly, and wgpu then fails.
    const frame = await createImageBitmap(video, { colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
    try {
      const x = canvas.take(frame);
      try {
        this.#showFrame(canvas, x, state);
      } catch (error) {
        if (isFault(error)) throw error;
        pair.error(messageForPage(error.message, this.about.params(state)));
        this.marksKey = null;
      }
      x.free();
      await canvas.done();
    } catch (error) {
      if (isFault(error)) throw error;
      stopCamera();
      pair.error(error.message);
    } finally {
      frame.close();
    }
    panel.querySelector('[aria-invalid]')?.setAttribute('aria-invalid', String(!$('error').hidden));
    Object.assign(panel.dataset, { state: 'done', shows: JSON.stringify(state) });
  }

  #showFrame(canvas, x, state) {
    const { about, panel } = this;
    source.setFrameShape(x.shape);
    const left = source.shown;
    const film = about.film(canvas, x, state);
    // If the state and the shape are the same as for the previous frame, the marks and texts stay.
    const marksKey = JSON.stringify([state, left.shape]);
    if (this.marksKey !== marksKey) {
      const shown = { image: null, dtype: 'uint8', ...shapeAndLayout(film) };
      const look = about.look({ state, left, input: x, outcome: null, read: null, shown });
      // Single channels of the video are not drawn over it.
      if (look.marks.lit) delete look.marks.lit.channels;
      const onCanvas = { width: film.canvas_width, height: film.canvas_height, fits: film.fits };
      pair.show({ left, shown, numbers: null, film: onCanvas, hint: panel.dataset.hint, ...look });
      showSnippets(about.programs({ state, left, shown }));
      pair.error(null);
      this.link();
      this.marksKey = marksKey;
    }
    film.free();
  }

  // Returns the result that will be saved.
  async result() {
    if (this.keepsFramesOnGpu()) {
      captureFrame();
      await source.using(() => this.#update());
    }
    return this.read;
  }

  async #update() {
    const { about, panel } = this;
    const turn = ++this.updateCount;
    this.marksKey = null;
    const state = { ...this.state };
    panel.dataset.state = 'busy';
    pair.times(null);
    try {
      const left = await about.left(state);
      const input = about.input(devices.chosen.device, state);
      const outcome = await about.run(input, state);
      const read = outcome.take_result();
      const range = read.dtype === left.dtype ? left.range : read.range();
      const shown = shownAs(read, about.range?.(read, state) ?? range);
      const seen = { state, left, input, outcome, read, shown };
      const isSmallPicture = shown.channels > 1 && shown.shape.reduce((product, size) => product * size, 1) <= MAX_PICTURE_VALUES;
      const look = about.look(seen);
      const numbers = (!shown.image && !look.sheet) || isSmallPicture ? read.numbers(MAX_TEXT_VALUES) : null;
      pair.show({ left, shown, numbers, hint: panel.dataset.hint, ...look });
      showSnippets(about.programs(seen));
      outcome.free();
      this.read?.free();
      this.read = read;
      pair.error(null);
      this.link();
      if (!source.live) this.#time(turn, state);
    } catch (error) {
      if (isFault(error)) throw error;
      pair.error(messageForPage(error.message, this.about.params(state)));
    }
    panel.querySelector('[aria-invalid]')?.setAttribute('aria-invalid', String(!$('error').hidden));
    Object.assign(panel.dataset, { state: 'done', shows: JSON.stringify(state) });
  }

  // Times the operation on each device, unless another request arrives in the meantime.
  async #time(turn, state) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    const isOutdated = () => turn !== this.updateCount || this.panel.hidden || source.live;
    if (isOutdated()) return;
    const rows = await source.using(() => this.#timesOfDevices(state, isOutdated)).catch((error) => {
      if (isFault(error)) throw error;
      return null;
    });
    if (rows && !isOutdated()) pair.times(rows);
  }

  // Returns a row for `pair.times` for each device, or null if the times have become outdated.
  async #timesOfDevices(state, isOutdated) {
    const rows = [];
    let firstResult = null;
    try {
      for (const { device, name, label } of devices.all) {
        const input = this.about.input(device, state);
        const runOnce = async () => {
          const outcome = await this.about.run(input, state);
          const read = outcome.take_result();
          outcome.free();
          return read;
        };
        // The first call compiles pipelines that are not compiled yet.
        const read = await runOnce();
        const same = firstResult === null || firstResult.equals(read);
        if (firstResult) read.free();
        firstResult ??= read;
        let [time, calls] = [0, 0];
        while (calls < MIN_CALLS || (time < ENOUGH_TIME && calls < MAX_CALLS)) {
          if (isOutdated()) return null;
          const start = performance.now();
          const result = await runOnce();
          time += performance.now() - start;
          calls++;
          result.free();
        }
        rows.push({ name, label, same, calls, time: time / calls });
      }
    } finally {
      firstResult?.free();
    }
    return rows;
  }
}

// Makes the examples of a tab, as buttons. Each has a name, a text below the name, and the state that it sets.
export function chips(operation, examples) {
  operation.panel.querySelector('.chips').append(
    ...examples.map(([name, text, sets]) => {
      const chip = document.createElement('button');
      chip.type = 'button';
      chip.dataset.sets = JSON.stringify(sets);
      chip.append(name);
      if (text) chip.appendChild(document.createElement('code')).textContent = text;
      chip.addEventListener('click', () => operation.set(sets));
      return chip;
    }),
  );
}

const SINGULARS = { tuples: 'tuple', boxes: 'box', updates: 'update' };

// Describes an outcome's report on tuples. Returns null if there are no tuples. `things` is the word for the tuples.
export function reported({ tuples, out_of_range: bad, first_tuple: number, first_indices: indices }, things, clamped = false) {
  if (!tuples) return null;
  if (bad) {
    return {
      bad,
      text: `${bad} of ${tuples} ${things} ${bad === 1 ? 'is' : 'are'} out of range. The first is number ${number}, counted from 0: ${indices}.`,
    };
  }
  const subject = tuples === 1 ? `The only ${SINGULARS[things]} is` : `All ${tuples} ${things} are`;
  return { bad, text: `${subject} in range${clamped ? ', after they were clamped' : ''}.` };
}
