// The array x: a picture, an array of an .npy file, or the camera's current frame. The page uploads it to each device
// that uses it.

import { PageArray } from './pkg/wgslice_web.js';
import { devices } from './devices.js';

// The maximum length of a picture's side in pixels. With it, a picture has fewer than the 2^27 elements that an array
// can have in WebAssembly.
const MAX_SIDE = 4096;

// Returns the size to which a picture of `width` by `height` is scaled, so that no side is longer than `maxSide`.
function fittingSize(maxSide, width, height) {
  const scale = Math.min(1, maxSide / Math.max(width, height));
  return [width, height].map((side) => Math.max(1, Math.round(side * scale)));
}

function isOpaque(rgba) {
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
  // Uploads x to a device.
  #upload = null;
  // The arrays of x, by device.
  #arrays = new Map();
  // The number of requests so far to change x.
  #requestCount = 0;
  // The number of operations in progress, and the arrays to free when they are done.
  #users = 0;
  #retired = [];

  // Changes x to a file, or to the file at an address, and announces the change. If that fails, x stays unchanged. If
  // `isEnlarged`, a picture is enlarged to MAX_SIDE × MAX_SIDE pixels.
  async open(file, isEnlarged = false) {
    const request = ++this.#requestCount;
    const blob = typeof file === 'string' ? await (await fetch(file)).blob() : file;
    const name = file.name ?? file;
    const opened = name.endsWith('.npy') ? await this.#npy(blob) : await this.#picture(blob, isEnlarged);
    // Another file was opened in the meantime.
    if (request !== this.#requestCount) return;
    this.name = name;
    this.#become(opened);
    this.dispatchEvent(new Event('change'));
  }

  // Changes x to a frame of the camera, with at most `maxSide` pixels on its longer side.
  frame(video, maxSide) {
    this.#requestCount++;
    this.name = 'camera.png';
    const [width, height] = fittingSize(maxSide, video.videoWidth, video.videoHeight);
    this.#become(this.#pixels(video, width, height, ''));
  }

  // Changes `shown` to describe a camera frame of this shape that stays on the GPU.
  setFrameShape([height, width, channels]) {
    this.#requestCount++;
    this.name = 'camera.png';
    this.shown = { image: null, shape: [height, width, channels], dtype: 'uint8', range: [0, 255], width, height, channels };
  }

  // Returns the array on a device, which is kept until x changes.
  on(device) {
    if (!this.#arrays.has(device)) this.#arrays.set(device, this.#upload(device));
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

  #become({ upload, shown, note }) {
    this.#retired.push(...this.#arrays.values());
    this.#arrays.clear();
    this.#upload = upload;
    this.shown = shown;
    this.note = note;
  }

  async #picture(blob, isEnlarged) {
    // Keeps the values in the file, without converting them to the colours of the screen.
    const options = { colorSpaceConversion: 'none', premultiplyAlpha: 'none' };
    if (isEnlarged) Object.assign(options, { resizeWidth: MAX_SIDE, resizeHeight: MAX_SIDE });
    const bitmap = await createImageBitmap(blob, options);
    const [width, height] = fittingSize(MAX_SIDE, bitmap.width, bitmap.height);
    let note = width < bitmap.width || height < bitmap.height ? `made smaller, from ${bitmap.width} × ${bitmap.height}` : '';
    if (isEnlarged) note = `enlarged to ${width} × ${height}`;
    const opened = this.#pixels(bitmap, width, height, note);
    bitmap.close();
    return opened;
  }

  #pixels(picture, width, height, note) {
    const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    context.drawImage(picture, 0, 0, width, height);
    const image = context.getImageData(0, 0, width, height);
    // Rust takes a Uint8Array. This one shares the memory of the image.
    const bytes = new Uint8Array(image.data.buffer);
    const upload = (device) => PageArray.picture(device, bytes, width, height);
    const channels = isOpaque(bytes) ? 3 : 4;
    return { upload, note, shown: { image, shape: [height, width, channels], dtype: 'uint8', range: [0, 255], width, height, channels } };
  }

  async #npy(blob) {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    const upload = (device) => PageArray.npy(device, bytes);
    const array = upload(devices.all.at(-1).device);
    const read = await array.read();
    array.free();
    return { upload, note: '', shown: shownAs(read, read.range()) };
  }
}

// Returns what to show of a result, or of x. `range` has the values for the darkest and the brightest shade.
export function shownAs(read, range) {
  const { shape, dtype, width, height, channels, fits } = read;
  const image = fits ? new ImageData(read.rgba(...range), width, height) : null;
  // Texts are shown if each pixel is one value.
  const texts = channels === 1 && width * height <= MAX_SHOWN_TEXTS ? read.texts(MAX_SHOWN_TEXTS) : null;
  return { image, shape: [...shape], dtype, range, width, height, channels, texts };
}

// The maximum number of values that are written into an array's pixels.
const MAX_SHOWN_TEXTS = 512;

export const source = new Source();
