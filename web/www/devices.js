// The devices of the page: the GPU through WebGPU, if there is one, and the CPU.

import { Device, Live } from './pkg/wgslice_web.js';

export const devices = {
  // Each entry has `device`, the library's object; `name`, such as WebGPU; `label`, which also names the adapter; and
  // `shows`, which is true if camera frames can stay on the device.
  all: [],
  chosen: null,
  // The reason why there is no WebGPU, or null.
  why: null,
};

// Returns why the browser has no WebGPU, or null if it has WebGPU. Does not need an adapter.
function missing() {
  if (navigator.gpu) return null;
  if (!window.isSecureContext) return 'Browsers offer WebGPU only on https: and on localhost, and this address is neither.';
  return 'This browser offers no WebGPU.';
}

// Names of adapters that run shaders on the CPU. Not every browser marks such adapters.
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render/i;

// Returns the browser's description of the adapter, which is longer than the library's name for it. Software adapters
// cannot show frames in every browser, and in Chromium the attempt can lose the device.
async function described() {
  const adapter = await navigator.gpu.requestAdapter();
  const info = adapter?.info;
  const words = info?.description || [info?.vendor, info?.architecture].filter(Boolean).join(' ');
  const marked = info?.isFallbackAdapter ?? adapter?.isFallbackAdapter ?? false;
  const name = marked || SOFTWARE.test(words) ? 'WebGPU (software)' : 'WebGPU';
  return { name, label: `WebGPU · ${words || 'adapter without a name'}`, shows: !marked };
}

// Opens the CPU, without waiting.
export function openCpu() {
  devices.all = [{ device: Device.cpu(), name: 'CPU', label: 'CPU · WebAssembly', shows: false }];
  [devices.chosen] = devices.all;
}

// Opens the GPU and selects it, if there is one.
export async function openGpu() {
  devices.why = missing();
  if (devices.why) return;
  try {
    const device = await Device.webgpu();
    devices.all.unshift({ device, ...await described() });
    [devices.chosen] = devices.all;
  } catch (error) {
    devices.why = `The browser has WebGPU, but it cannot be used: ${error.message}`;
  }
}

// The canvas for camera frames that stay on the selected device, or null if that device cannot show them.
let live;
export function liveCanvas() {
  if (!devices.chosen.shows) return null;
  if (live === undefined) {
    try {
      live = new Live(devices.chosen.device, document.getElementById('result-live'));
    } catch {
      live = null;
    }
  }
  return live;
}
