// The devices that the page runs on: the GPU by WebGPU, where there is one, and the CPU.

import { Device } from './pkg/wgslice_web.js';

export const devices = {
  // Each has `device`, the library's; `name`, such as WebGPU; and `label`, which also says which adapter.
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

// The browser's description of the adapter, which says more than the library's name for it.
async function adapterName() {
  const info = (await navigator.gpu.requestAdapter())?.info;
  const words = info?.description || [info?.vendor, info?.architecture].filter(Boolean).join(' ');
  return words || 'adapter without a name';
}

// Opens the CPU, which is there at once.
export function openCpu() {
  devices.all = [{ device: Device.cpu(), name: 'CPU', label: 'CPU · WebAssembly' }];
  [devices.chosen] = devices.all;
}

// Opens the GPU, and chooses it, where there is one.
export async function openGpu() {
  devices.why = missing();
  if (devices.why) return;
  try {
    const device = await Device.webgpu();
    devices.all.unshift({ device, name: 'WebGPU', label: `WebGPU · ${await adapterName()}` });
    [devices.chosen] = devices.all;
  } catch (error) {
    devices.why = `WebGPU is there, but cannot be used: ${error.message}`;
  }
}
