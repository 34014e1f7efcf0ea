// A tab with an operation: its inputs are its state, and the address contains the state. Runs the operation when the
// state or the page's array, x, changes. Shows the result, and times the operation on each device.

import { address, fromAddress } from './address.js';
import { devices, liveCanvas } from './devices.js';
import { still, stopCamera } from './inputs.js';
import { latest } from './latest.js';
import * as pair from './pair.js';
import { snippets } from './snippets.js';
import { shownAs, source } from './source.js';

const $ = (id) => document.getElementById(id);

// The maximum number of values that are shown as text.
const MANY = 600;
// If a picture in colours has at most this many values, they are also shown as text.
const FEW = 48;
// Calls are timed until they took this many milliseconds in total, or until this many calls were made.
const [ENOUGH, CALLS] = [40, 100];
// The pause in milliseconds before the first timed call, and the minimum number of timed calls.
const [PAUSE, FEWEST] = [180, 3];

// Returns the shape of an array, and its layout on a canvas that shows only this array.
const alone = ({ shape, height, width, channels }) => ({ shape: [...shape], height, width, channels });

// Returns whether an error is a panic of the library. Typed input never causes a panic.
const isFault = (error) => error instanceof WebAssembly.RuntimeError;

// The library's messages contain names of options. The page has other names for these options.
const CHOICES = { Ignore: '“gives zeros”', Clamp: '“is clamped”', Error: '“is an error”' };
const COMBINES = { Sub: '-=', Mul: '*=', Min: 'minimum', Max: 'maximum' };
const inWordsOfThePage = (message, params) => message
  .replace(/^\S+ under Combine::(\w+) computes with elements, but the shaders cannot compute with u8:/,
    (_, name) => `shaders cannot combine uint8 by “${COMBINES[name] ?? name}”:`)
  .replace(/OutOfRange::(\w+)/g, (name, option) => CHOICES[option] ?? name)
  .replace(/strides\[(\d+)\] is 0/, 'the stride of dimension $1 is 0')
  .replace('`index` takes them: Backend::index', '`wgslice index` takes them')
  .replace(/run it on the CPU \(Backend::cpu\).*$/, 'choose the CPU as the device')
  .replace(/\bparams\b/g, params);

export class Operation {
  // `about` has
  //   name, defaults        the panel's id, and the initial state
  //   input(device, state)  the operation's input; by default x on this device
  //   run(input, state)     the operation; returns a promise of an outcome
  //   left(state)           the array in the left figure; by default x
  //   params(state)         the name of the input in messages; by default x
  //   look(seen)            the marks and texts of `pair.show`
  //   film(canvas, x, state)  shows the result for a frame that stays on the GPU; only in tabs that support this
  //   drag(from, to, state, ended)  returns the changes of the state for a drag on x
  //   programs(seen)        the snippets
  constructor(about) {
    this.about = { input: (device) => source.on(device), left: () => source.shown, params: () => 'x', ...about };
    this.name = about.name;
    this.state = { ...about.defaults };
    this.panel = $(about.name);
    // While frames stay on the GPU, an update runs nothing: the next frame shows the change.
    this.update = latest(() => this.films() || source.using(() => this.#update()));
    this.asked = 0;
    // The last result, for saving it.
    this.read = null;
    // The state and shape that the marks on the current frame belong to.
    this.filmed = null;
  }

  connect(isOpen) {
    if (isOpen) Object.assign(this.state, fromAddress(this.about.defaults));
    for (const input of this.#inputs()) {
      const kind = input.type === 'checkbox' ? 'checked' : 'value';
      input.addEventListener('input', () => this.set({ [input.dataset.key]: input[kind] }));
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

  drag(from, to, ended) {
    const changes = this.about.drag?.(from, to, this.state, ended);
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
  films() {
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
        pair.error(inWordsOfThePage(error.message, this.about.params(state)));
        this.filmed = null;
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
    source.filmed(x.shape);
    const left = source.shown;
    const film = about.film(canvas, x, state);
    // If the state and the shape are the same as for the previous frame, the marks and texts stay.
    const marksKey = JSON.stringify([state, left.shape]);
    if (this.filmed !== marksKey) {
      const shown = { image: null, dtype: 'uint8', ...alone(film) };
      const look = about.look({ state, left, input: x, outcome: null, read: null, shown });
      // Single channels of the video are not drawn over it.
      if (look.marks.lit) delete look.marks.lit.channels;
      const onCanvas = { width: film.across, height: film.down, fits: film.fits };
      pair.show({ left, shown, numbers: null, film: onCanvas, hint: panel.dataset.hint, ...look });
      snippets(about.programs({ state, left, shown }));
      pair.error(null);
      this.link();
      this.filmed = marksKey;
    }
    film.free();
  }

  // Returns the result that will be saved.
  async result() {
    if (this.films()) {
      still();
      await source.using(() => this.#update());
    }
    return this.read;
  }

  async #update() {
    const { about, panel } = this;
    const turn = ++this.asked;
    this.filmed = null;
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
      const few = shown.channels > 1 && shown.shape.reduce((product, size) => product * size, 1) <= FEW;
      const look = about.look(seen);
      const numbers = (!shown.image && !look.sheet) || few ? read.numbers(MANY) : null;
      pair.show({ left, shown, numbers, hint: panel.dataset.hint, ...look });
      snippets(about.programs(seen));
      outcome.free();
      this.read?.free();
      this.read = read;
      pair.error(null);
      this.link();
      if (!source.live) this.#time(turn, state);
    } catch (error) {
      if (isFault(error)) throw error;
      pair.error(inWordsOfThePage(error.message, this.about.params(state)));
    }
    panel.querySelector('[aria-invalid]')?.setAttribute('aria-invalid', String(!$('error').hidden));
    Object.assign(panel.dataset, { state: 'done', shows: JSON.stringify(state) });
  }

  // Times the operation on each device, unless another request arrives in the meantime.
  async #time(turn, state) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    const over = () => turn !== this.asked || this.panel.hidden || source.live;
    if (over()) return;
    const rows = await source.using(() => this.#timed(state, over)).catch((error) => {
      if (isFault(error)) throw error;
      return null;
    });
    if (rows && !over()) pair.times(rows);
  }

  async #timed(state, over) {
    const rows = [];
    let first = null;
    try {
      for (const { device, name, label } of devices.all) {
        const input = this.about.input(device, state);
        const once = async () => {
          const outcome = await this.about.run(input, state);
          const read = outcome.take_result();
          outcome.free();
          return read;
        };
        // The first call compiles pipelines that are not compiled yet.
        const read = await once();
        const same = first === null || first.equals(read);
        if (first) read.free();
        first ??= read;
        let [time, calls] = [0, 0];
        while (calls < FEWEST || (time < ENOUGH && calls < CALLS)) {
          if (over()) return null;
          const start = performance.now();
          const result = await once();
          time += performance.now() - start;
          calls++;
          result.free();
        }
        rows.push({ name, label, same, calls, time: time / calls });
      }
    } finally {
      first?.free();
    }
    return rows;
  }
}

// Makes the examples of a tab. Each has a name, a text below it, and the state that it sets.
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

const ONE = { tuples: 'tuple', boxes: 'box', updates: 'update' };

// Describes a report on tuples, or returns null if it has none. `things` is the word for the tuples in the text.
export function reported({ tuples, out_of_range: bad, first, first_indices: indices }, things, clamped = false) {
  if (!tuples) return null;
  if (bad) {
    return {
      bad,
      text: `${bad} of ${tuples} ${things} ${bad === 1 ? 'is' : 'are'} out of range. The first is number ${first}, counted from 0: ${indices}.`,
    };
  }
  const all = tuples === 1 ? `The only ${ONE[things]} is` : `All ${tuples} ${things} are`;
  return { bad, text: `${all} in range${clamped ? ', after they were clamped' : ''}.` };
}
