// Has Tint, Chromium's compiler of WGSL, read every shader that a browser would get, through Dawn without a device.
//
//     node tint.mjs TEXTS     lines as src/gpu/shader_formats.rs writes them
//
// Prints the name of each shader that is refused, and why on the standard error. A message of any kind is a refusal.
// The last line is 'N passed, N failed': a text with one setting of its constants counts as one.
import fs from 'node:fs';
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
// Dawn is gone once nothing holds this.
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const requiredLimits = {};
for (const name in adapter.limits) requiredLimits[name] = adapter.limits[name];
const device = await adapter.requestDevice({ requiredLimits });
// Refusals are told where they are made; a message of the device besides would be news.
let uncaptured = 0;
device.addEventListener('uncapturederror', (event) => {
  uncaptured += 1;
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
  const refuse = (constants, message) => {
    failed += 1;
    console.log(`${text.text} ${text.name} ${text.space} ${JSON.stringify(constants)}`);
    console.error(message);
  };
  for (const constants of text.constants) {
    const compute = { module, entryPoint: 'main', constants };
    if (messages.length > 0) {
      refuse(constants, [...messages].map(({ type, message }) => `${type}: ${message}`).join('\n'));
      continue;
    }
    try {
      await device.createComputePipelineAsync({ layout: 'auto', compute });
      passed += 1;
    } catch (error) {
      refuse(constants, error.message);
    }
  }
}
console.log(`${passed} passed, ${failed + uncaptured} failed`);
// Dawn's threads would keep the process.
process.exit(failed + uncaptured === 0 ? 0 : 1);
