// The picture that is sliced and gathered from: in a canvas, and as an array on the device.

import { PageArray } from './pkg/wgslice_web.js';

// The longest side: an array in WebAssembly has fewer than 2^27 elements.
const LONGEST = 4096;

class Picture {
  #pixels = null;
  #array = null;
  #device = null;
  #asked = 0;

  // From an address or a file. Returns a note if it was made smaller.
  async open(source) {
    const asked = ++this.#asked;
    const blob = typeof source === 'string' ? await (await fetch(source)).blob() : source;
    // The bytes of the file, not those that suit the screen.
    const bitmap = await createImageBitmap(blob, { colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
    // Another was opened meanwhile.
    if (asked !== this.#asked) return '';
    const scale = Math.min(1, LONGEST / Math.max(bitmap.width, bitmap.height));
    const width = Math.max(1, Math.round(bitmap.width * scale));
    const height = Math.max(1, Math.round(bitmap.height * scale));
    const canvas = document.getElementById('source');
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0, width, height);
    this.#pixels = context.getImageData(0, 0, width, height);
    this.#array = null;
    const note = scale < 1 ? `Made smaller, from ${bitmap.width} × ${bitmap.height}.` : '';
    bitmap.close();
    return note;
  }

  // On a device, where it stays until the picture or the device is another.
  on(device) {
    if (!this.#array || this.#device !== device) {
      const { data, width, height } = this.#pixels;
      // Unclamped bytes of the same memory, which is what Rust takes.
      this.#array = PageArray.picture(device, new Uint8Array(data.buffer), width, height);
      this.#device = device;
    }
    return this.#array;
  }
}

export const picture = new Picture();

// Shows a result as pixels on the canvas, or hides that where it is no picture. Small pictures are enlarged.
export function paint(canvas, shown, space = 256) {
  const { width, height } = shown;
  canvas.hidden = width === undefined;
  if (canvas.hidden) return;
  canvas.width = width;
  canvas.height = height;
  const factor = Math.max(1, Math.floor(Math.min(space / width, space / height)));
  canvas.style.width = factor > 1 ? `${width * factor}px` : '';
  canvas.getContext('2d', { willReadFrequently: true }).putImageData(new ImageData(shown.rgba(), width, height), 0, 0);
}

// A shape as it is written beside a picture.
export const written = (shape, dtype) => `${shape.length ? [...shape].join(' × ') : 'a single value'}, ${dtype}`;

// How long something took.
export const took = (milliseconds) => `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
