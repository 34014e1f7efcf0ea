// Compiles the shaders that a browser would get. It uses Tint, Chromium's WGSL compiler, through Dawn without a GPU.
//
//     node tint.mjs TEXTS     TEXTS is a file of JSON lines that src/gpu/engine/shader_formats.rs writes
//
// Prints the name of each rejected shader, and the reason on the standard error. A shader with any message is rejected.
// The last line is 'N passed, N failed', where each setting of a shader's constants counts as one shader.
import fs from 'node:fs';
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
// Dawn stops when this object is garbage-collected.
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const requiredLimits = {};
for (const name in adapter.limits) requiredLimits[name] = adapter.limits[name];
const device = await adapter.requestDevice({ requiredLimits });
// Rejected shaders are reported below. Any other message of the device is unexpected.
let uncapturedCount = 0;
device.addEventListener('uncapturederror', (event) => {
  uncapturedCount += 1;
  console.error(event.error.message);
});

const texts = fs.readFileSync(process.argv[2], 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
let passed = 0;
let failed = 0;

for (const text of texts) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code: text.source });
  const { messages } = await module.getCompilationInfo();
  await device.popErrorScope();
  const reject = (constants, message) => {
    failed += 1;
    console.log(`${text.text} ${text.name} ${text.space} ${JSON.stringify(constants)}`);
    console.error(message);
  };
  for (const constants of text.constants) {
    const compute = { module, entryPoint: 'main', constants };
    if (messages.length > 0) {
      reject(constants, [...messages].map(({ type, message }) => `${type}: ${message}`).join('\n'));
      continue;
    }
    try {
      await device.createComputePipelineAsync({ layout: 'auto', compute });
      passed += 1;
    } catch (error) {
      reject(constants, error.message);
    }
  }
}
console.log(`${passed} passed, ${failed + uncapturedCount} failed`);
// Dawn's threads would keep the process alive.
process.exit(failed + uncapturedCount === 0 ? 0 : 1);
