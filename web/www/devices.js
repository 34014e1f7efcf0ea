// The devices of the page: the GPU through WebGPU, if there is one, and the CPU.

import { Device, Live } from './pkg/wgslice_web.js';

export const devices = {
  // Each entry has `device`, the library's object; `name`, such as WebGPU; `label`, which also names the adapter; and
  // `canShowFrames`, which is true if camera frames can stay on the device.
  all: [],
  chosen: null,
  // The reason why the page cannot use WebGPU, or null.
  whyNoWebGpu: null,
};

// Returns why the browser has no WebGPU, or null if it has WebGPU, even if there is no adapter.
function reasonForNoWebGpu() {
  if (navigator.gpu) return null;
  if (!window.isSecureContext) return 'Browsers offer WebGPU only on https: and on localhost, and this address is neither.';
  return 'This browser offers no WebGPU.';
}

// Names of adapters that run shaders on the CPU. Not every browser marks such adapters as fallbacks.
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render/i;

// Describes the adapter in the words of the browser, which are longer than the library's name for it. Camera frames
// stay on no adapter that the browser marks as a fallback: not every browser can show them from there, and in Chromium
// the attempt can lose the device.
async function describeAdapter() {
  const adapter = await navigator.gpu.requestAdapter();
  const info = adapter?.info;
  const description = info?.description || [info?.vendor, info?.architecture].filter(Boolean).join(' ');
  const isFallback = info?.isFallbackAdapter ?? adapter?.isFallbackAdapter ?? false;
  const name = isFallback || SOFTWARE.test(description) ? 'WebGPU (software)' : 'WebGPU';
  return { name, label: `WebGPU · ${description || 'adapter without a name'}`, canShowFrames: !isFallback };
}

// Opens the CPU, without waiting.
export function openCpu() {
  devices.all = [{ device: Device.cpu(), name: 'CPU', label: 'CPU · WebAssembly', canShowFrames: false }];
  [devices.chosen] = devices.all;
}

// Opens the GPU and selects it, if there is one.
export async function openGpu() {
  devices.whyNoWebGpu = reasonForNoWebGpu();
  if (devices.whyNoWebGpu) return;
  try {
    const device = await Device.webgpu();
    devices.all.unshift({ device, ...await describeAdapter() });
    [devices.chosen] = devices.all;
  } catch (error) {
    devices.whyNoWebGpu = `The browser has WebGPU, but it cannot be used: ${error.message}`;
  }
}

// The canvas for camera frames that stay on the selected device, or null if that device cannot show them.
let cachedCanvas;
export function liveCanvas() {
  if (!devices.chosen.canShowFrames) return null;
  if (cachedCanvas === undefined) {
    try {
      cachedCanvas = new Live(devices.chosen.device, document.getElementById('result-live'));
    } catch {
      cachedCanvas = null;
    }
  }
  return cachedCanvas;
}
