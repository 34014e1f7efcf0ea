// Reads and writes `.npy` files, and computes the pixels that the page should show for an array.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'wgslice-web-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));

const ELEMENT_ARRAYS = { '|u1': Uint8Array, '<i4': Int32Array, '<i8': BigInt64Array, '<f4': Float32Array };

export function read(file) {
  const bytes = fs.readFileSync(file);
  const dataStart = 10 + bytes.readUInt16LE(8);
  const header = bytes.subarray(10, dataStart).toString('latin1');
  const descr = header.match(/'descr': '([^']*)'/)[1];
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').map((size) => size.trim()).filter(Boolean).map(Number);
  const ElementArray = ELEMENT_ARRAYS[descr];
  // Copies the data, because elements must be aligned.
  const data = new ElementArray(bytes.buffer.slice(bytes.byteOffset + dataStart, bytes.byteOffset + bytes.length));
  return { shape, data };
}

// Writes the picture that a page shows as x into a file for the command. Returns the path of the file.
export async function photograph(page) {
  const { width, height, data } = await page.pixels('source');
  return write('astronaut.npy', [height, width, 3], data.filter((_, at) => at % 4 < 3));
}

// Writes an array to a file, and returns its path. `data` is in the order of the file.
export function write(name, shape, data, { columnMajor = false } = {}) {
  const [descr] = Object.entries(ELEMENT_ARRAYS).find(([, ElementArray]) => data instanceof ElementArray);
  const sizes = shape.map((size) => `${size},`).join(' ');
  const dict = `{'descr': '${descr}', 'fortran_order': ${columnMajor ? 'True' : 'False'}, 'shape': (${sizes}), }`;
  const header = dict.padEnd(Math.ceil((dict.length + 11) / 64) * 64 - 11) + '\n';
  const prefix = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length & 255, header.length >> 8]);
  const file = path.join(folder, name);
  fs.writeFileSync(file, Buffer.concat([prefix, Buffer.from(header, 'latin1'), Buffer.from(data.buffer)]));
  return file;
}

// Returns the array with its dimensions in another order.
export function transposed({ shape, data }, order) {
  const newShape = order.map((dimension) => shape[dimension]);
  const strides = shape.map((_, dimension) => shape.slice(dimension + 1).reduce((product, size) => product * size, 1));
  const reordered = new data.constructor(data.length);
  const position = newShape.map(() => 0);
  for (let element = 0; element < data.length; element++) {
    reordered[element] = data[order.reduce((sum, dimension, axis) => sum + strides[dimension] * position[axis], 0)];
    for (let axis = newShape.length - 1; axis >= 0 && ++position[axis] === newShape[axis]; axis--) position[axis] = 0;
  }
  return { shape: newShape, data: reordered };
}

// Returns the pixels that the page's canvas should have for a picture with this number of channels (1: grey).
export function rgba({ data }, channels) {
  const pixels = new Uint8Array(data.length / channels * 4);
  for (let pixel = 0; pixel < data.length / channels; pixel++) {
    for (let colour = 0; colour < 4; colour++) {
      const channel = channels === 1 && colour < 3 ? 0 : colour;
      pixels[4 * pixel + colour] = channel < channels ? data[pixel * channels + channel] : 255;
    }
  }
  return pixels;
}
