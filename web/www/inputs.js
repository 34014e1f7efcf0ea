// The sources of x: a chosen, dropped or pasted file, or the camera.

import * as pair from './pair.js';
import { source } from './source.js';

const $ = (id) => document.getElementById(id);

// The maximum length in pixels of the longer side of a camera frame.
const MAX_FRAME_SIDE = 640;

async function open(file, isEnlarged = false) {
  if (!file) return;
  stopCamera();
  try {
    await source.open(file, isEnlarged);
    $('source-note').textContent = [`${source.name}${source.note ? `, ${source.note}` : ''}`, 'it stays on this machine.'].join('; ');
    $('source-note').classList.remove('bad');
  } catch (error) {
    $('source-note').textContent = `${file.name || 'The pasted file'} is not a readable picture or .npy file: ${error.message}`;
    $('source-note').classList.add('bad');
  }
}

export function connectInputs() {
  // The times of small arrays are mostly the overhead of calls. The enlarged photograph is large enough for a GPU.
  $('large').addEventListener('click', () => open('astronaut.webp', true));
  $('file').addEventListener('change', async () => {
    const [file] = $('file').files;
    // Resets the input, so that the same file can be chosen again.
    await open(file);
    $('file').value = '';
  });
  let dragDepth = 0;
  const showDropHint = (isShown) => { $('dropping').hidden = !isShown; };
  const hasFiles = (event) => event.dataTransfer?.types.includes('Files');
  addEventListener('dragenter', (event) => {
    if (hasFiles(event)) showDropHint(++dragDepth > 0);
  });
  addEventListener('dragleave', (event) => {
    if (hasFiles(event)) showDropHint(--dragDepth > 0);
  });
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => {
    event.preventDefault();
    dragDepth = 0;
    showDropHint(false);
    open(event.dataTransfer.files[0]);
  });
  addEventListener('paste', (event) => {
    const [file] = event.clipboardData.files;
    // Pasted text goes into the focused field.
    if (!file) return;
    event.preventDefault();
    open(file);
  });
}

// The video of the camera, or null while the camera is off.
let video = null;

export function stopCamera() {
  if (!video) return;
  // The last frame stays as a picture.
  source.frame(video, MAX_FRAME_SIDE);
  video.srcObject.getTracks().forEach((track) => track.stop());
  video.srcObject = null;
  video = null;
  source.live = false;
  pair.rate('');
  $('camera').setAttribute('aria-pressed', 'false');
}

// Connects the camera's button. `operation` returns the operation of the open tab, if it has one; `update` runs that
// operation. `label` returns the label of the selected device.
export function connectCamera(operation, update, label) {
  $('camera').hidden = !navigator.mediaDevices?.getUserMedia;
  $('camera').addEventListener('click', async () => {
    if (video) {
      stopCamera();
      update();
      return;
    }
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: MAX_FRAME_SIDE }, frameRate: { ideal: 60 } } });
      video = Object.assign($('source-live'), { srcObject: stream });
      await video.play();
    } catch (error) {
      video = null;
      $('source-note').textContent = `The camera cannot be used: ${error.message}`;
      $('source-note').classList.add('bad');
      return;
    }
    $('source-note').textContent = 'The camera; its pictures stay on this machine.';
    $('source-note').classList.remove('bad');
    $('camera').setAttribute('aria-pressed', 'true');
    source.live = true;
    film(video, operation, label);
  });
}

// Changes x to the current camera frame, for operations whose frames do not stay on the GPU.
export const captureFrame = () => source.frame(video, MAX_FRAME_SIDE);

// Shows a new camera frame at each repaint of the screen, unless the previous frame is still in progress. If the device
// and the tab support it, a frame stays on the GPU.
async function film(cameraVideo, operation, label) {
  let [frameCount, since] = [0, performance.now()];
  const stream = cameraVideo.srcObject;
  while (cameraVideo.srcObject === stream) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    if (cameraVideo.srcObject !== stream) return;
    const openOperation = operation();
    const staysOnGpu = openOperation?.keepsFramesOnGpu();
    if (staysOnGpu) await openOperation.film(cameraVideo);
    else {
      captureFrame();
      await openOperation?.update();
    }
    frameCount++;
    const time = performance.now() - since;
    if (time < 500 || cameraVideo.srcObject !== stream) continue;
    const path = staysOnGpu ? 'from texture to texture' : 'with upload and readback';
    pair.rate(`${Math.round(frameCount / time * 1000)} frames a second on ${label()}, ${path}`);
    [frameCount, since] = [0, performance.now()];
  }
}
