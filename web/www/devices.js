// The devices that the page runs on: the GPU by WebGPU, where there is one, and the CPU.

import { Device, Live } from './pkg/wgslice_web.js';

export const devices = {
  // Each has `device`, the library's; `name`, such as WebGPU; `label`, which also says which adapter; and whether it
  // `shows` frames that stay on it.
  all: [],
  chosen: null,
  // Why there is no WebGPU, or null.
  why: null,
};

// Returns why the browser has no WebGPU, or null if it has; this needs no adapter yet.
function missing() {
  if (navigator.gpu) return null;
  if (!window.isSecureContext) return 'Browsers offer WebGPU only on https: and on localhost, and this address is neither.';
  return 'This browser offers no WebGPU.';
}

// The browser's description of the adapter, which says more than the library's name for it, and whether it can show
// frames: software does not in every browser, and Chromium's loses the device where it cannot.
async function described() {
  const adapter = await navigator.gpu.requestAdapter();
  const info = adapter?.info;
  const words = info?.description || [info?.vendor, info?.architecture].filter(Boolean).join(' ');
  const software = info?.isFallbackAdapter ?? adapter?.isFallbackAdapter ?? false;
  return { label: `WebGPU · ${words || 'adapter without a name'}`, shows: !software };
}

// Opens the CPU, which is there at once.
export function openCpu() {
  devices.all = [{ device: Device.cpu(), name: 'CPU', label: 'CPU · WebAssembly', shows: false }];
  [devices.chosen] = devices.all;
}

// Opens the GPU, and chooses it, where there is one.
export async function openGpu() {
  devices.why = missing();
  if (devices.why) return;
  try {
    const device = await Device.webgpu();
    devices.all.unshift({ device, name: 'WebGPU', ...await described() });
    [devices.chosen] = devices.all;
  } catch (error) {
    devices.why = `WebGPU is there, but cannot be used: ${error.message}`;
  }
}

// The canvas of frames that stay on the chosen device; null if it shows none.
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
