// The array x: a picture, an array of an .npy file, or the camera's current frame. It is in the page's memory, and on
// each device.

import { PageArray } from './pkg/wgslice_web.js';
import { devices } from './devices.js';

// The maximum length of a side in pixels. With it, a picture has fewer than the 2^27 elements that an array can have in
// WebAssembly.
const LONGEST = 4096;

// Returns the size to which a picture of `width` by `height` is scaled.
function within(longest, width, height) {
  const scale = Math.min(1, longest / Math.max(width, height));
  return [width, height].map((side) => Math.max(1, Math.round(side * scale)));
}

function opaque(rgba) {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return false;
  return true;
}

class Source extends EventTarget {
  // The properties of x to show, as `shownAs` returns them; `image` is null if no canvas can show x.
  shown = null;
  name = '';
  note = '';
  // True while the camera is on.
  live = false;
  #make = null;
  #arrays = new Map();
  #asked = 0;
  // The number of operations in progress, and the arrays to free when they are done.
  #users = 0;
  #retired = [];

  // Opens an address or a file, and announces the change. If that fails, x stays unchanged. `large` enlarges a picture
  // to LONGEST × LONGEST pixels.
  async open(file, large = false) {
    const asked = ++this.#asked;
    const blob = typeof file === 'string' ? await (await fetch(file)).blob() : file;
    const name = file.name ?? file;
    const opened = name.endsWith('.npy') ? await this.#npy(blob) : await this.#picture(blob, large);
    // Another file was opened in the meantime.
    if (asked !== this.#asked) return;
    this.name = name;
    this.#become(opened);
    this.dispatchEvent(new Event('change'));
  }

  // Changes x to a frame of the camera, with at most `longest` pixels on its longer side.
  frame(video, longest) {
    this.#asked++;
    this.name = 'camera.png';
    const [width, height] = within(longest, video.videoWidth, video.videoHeight);
    this.#become(this.#pixels(video, width, height, ''));
  }

  // Changes `shown` to describe a camera frame of this shape that stays on the GPU.
  filmed([height, width, channels]) {
    this.#asked++;
    this.name = 'camera.png';
    this.shown = { image: null, shape: [height, width, channels], dtype: 'uint8', range: [0, 255], width, height, channels };
  }

  // Returns the array on a device, which is kept until x changes.
  on(device) {
    if (!this.#arrays.has(device)) this.#arrays.set(device, this.#make(device));
    return this.#arrays.get(device);
  }

  // Runs a task that uses arrays of x, and keeps them until it is done.
  async using(task) {
    this.#users++;
    try {
      return await task();
    } finally {
      if (--this.#users === 0) this.#retired.splice(0).forEach((array) => array.free());
    }
  }

  #become({ make, shown, note }) {
    this.#retired.push(...this.#arrays.values());
    this.#arrays.clear();
    this.#make = make;
    this.shown = shown;
    this.note = note;
  }

  async #picture(blob, large) {
    // Keeps the values in the file, without converting them to the colours of the screen.
    const options = { colorSpaceConversion: 'none', premultiplyAlpha: 'none' };
    if (large) Object.assign(options, { resizeWidth: LONGEST, resizeHeight: LONGEST });
    const bitmap = await createImageBitmap(blob, options);
    const [width, height] = within(LONGEST, bitmap.width, bitmap.height);
    let note = width < bitmap.width || height < bitmap.height ? `made smaller, from ${bitmap.width} × ${bitmap.height}` : '';
    if (large) note = `enlarged to ${width} × ${height}`;
    const opened = this.#pixels(bitmap, width, height, note);
    bitmap.close();
    return opened;
  }

  #pixels(drawn, width, height, note) {
    const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    context.drawImage(drawn, 0, 0, width, height);
    const image = context.getImageData(0, 0, width, height);
    // Rust takes a Uint8Array. This one shares the memory of the image.
    const bytes = new Uint8Array(image.data.buffer);
    const make = (device) => PageArray.picture(device, bytes, width, height);
    const channels = opaque(bytes) ? 3 : 4;
    return { make, note, shown: { image, shape: [height, width, channels], dtype: 'uint8', range: [0, 255], width, height, channels } };
  }

  async #npy(blob) {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    const make = (device) => PageArray.npy(device, bytes);
    const array = make(devices.all.at(-1).device);
    const read = await array.read();
    array.free();
    return { make, note: '', shown: shownAs(read, read.range()) };
  }
}

// Returns what to show of a result, or of x. `range` has the values for the darkest and the brightest shade.
export function shownAs(read, range) {
  const { shape, dtype, width, height, channels, fits } = read;
  const image = fits ? new ImageData(read.rgba(...range), width, height) : null;
  // Texts are shown if each pixel is one value.
  const texts = channels === 1 && width * height <= FEW ? read.texts(FEW) : null;
  return { image, shape: [...shape], dtype, range, width, height, channels, texts };
}

// The maximum number of values that are written into an array's pixels.
const FEW = 512;

export const source = new Source();
