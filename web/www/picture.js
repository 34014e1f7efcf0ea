// The picture that is sliced and gathered from. It is on a canvas, and an array on the device.

import { PageArray } from './pkg/wgslice_web.js';

// The longest side in pixels, so that all pixels are fewer than the 2^27 elements of an array in WebAssembly.
const LONGEST = 4096;

class Picture {
  #pixels = null;
  #array = null;
  #device = null;
  #asked = 0;

  // Opens an address or a file. Returns a note if the picture was made smaller.
  async open(source) {
    const asked = ++this.#asked;
    const blob = typeof source === 'string' ? await (await fetch(source)).blob() : source;
    // The values in the file, not converted to the colours of the screen.
    const bitmap = await createImageBitmap(blob, { colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
    // Another picture was opened meanwhile.
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

  // Returns the array on a device, which is kept until the picture or the device changes.
  on(device) {
    if (!this.#array || this.#device !== device) {
      const { data, width, height } = this.#pixels;
      // Rust takes a Uint8Array; this one has the same memory.
      this.#array = PageArray.picture(device, new Uint8Array(data.buffer), width, height);
      this.#device = device;
    }
    return this.#array;
  }
}

export const picture = new Picture();

// Shows a result as pixels on the canvas, or hides the canvas if the result is no picture. Small pictures are enlarged.
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

// The text of a shape and a dtype.
export const written = (shape, dtype) => `${shape.length ? [...shape].join(' × ') : 'a single value'}, ${dtype}`;

// The text of a time.
export const took = (milliseconds) => `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
