// A program for onnxruntime-node: every tensor type, options, facts and errors.
// Usage: node client.js FOLDER-OF-MODELS
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const ort = require('onnxruntime-node');

const folder = process.argv[2];
const checks = [];
const check = (name, body) => checks.push([name, body]);
const file = name => path.join(folder, name + '.onnx');
const open = (name, options) => ort.InferenceSession.create(file(name), options);
const refused = (body, text) => assert.rejects(body, text ? e => String(e.message).includes(text) : undefined);

const types = {
  float32: ['float', Float32Array.of(1, -2, 3, 4)], float64: ['double', Float64Array.of(1, -2, 3, 4)],
  int8: ['int8', Int8Array.of(1, -2, 3, 4)], int16: ['int16', Int16Array.of(1, -2, 3, 4)],
  int32: ['int32', Int32Array.of(1, -2, 3, 4)], int64: ['int64', BigInt64Array.of(1n, -2n, 3n, 4n)],
  uint8: ['uint8', Uint8Array.of(1, 2, 3, 255)], uint16: ['uint16', Uint16Array.of(1, 2, 3, 65535)],
  uint32: ['uint32', Uint32Array.of(1, 2, 3, 4294967295)], uint64: ['uint64', BigUint64Array.of(1n, 2n, 3n, 4n)],
  bool: ['bool', Uint8Array.of(1, 0, 0, 1)], string: ['string', ['a', '', 'Grüße', '日本']],
  float16: ['float16', Uint16Array.of(0x3c00, 0x4000, 0x4200, 0x4400)],
};
for (const [type, [model, data]] of Object.entries(types)) {
  check('type ' + type, async () => {
    const session = await open('same_' + model);
    const { y } = await session.run({ x: new ort.Tensor(type, data, [2, 2]) });
    assert.strictEqual(y.type, type);
    assert.deepStrictEqual(y.dims, [2, 2]);
    assert.deepStrictEqual(Array.from(y.data), Array.from(data));
    await session.release();
  });
  check('no elements ' + type, async () => {
    const session = await open('same_' + model);
    const none = Array.isArray(data) ? [] : data.slice(0, 0);
    const { y } = await session.run({ x: new ort.Tensor(type, none, [0, 2]) });
    assert.deepStrictEqual(y.dims, [0, 2]);
  });
}

check('facts', async () => {
  const session = await open('add');
  assert.deepStrictEqual(session.inputNames, ['a', 'b']);
  assert.deepStrictEqual(session.outputNames, ['c']);
  const [a, b] = session.inputMetadata;
  assert.deepStrictEqual([a.name, a.isTensor, a.type, a.shape], ['a', true, 'float32', ['n', 3]]);
  assert.deepStrictEqual(b.shape, [3]);
});

check('from bytes', async () => {
  for (const bytes of [fs.readFileSync(file('scale')), new Uint8Array(fs.readFileSync(file('scale')))]) {
    const session = await ort.InferenceSession.create(bytes);
    const { y } = await session.run({ x: new ort.Tensor('float32', [1, 2], [2]) });
    assert.deepStrictEqual(Array.from(y.data), [2, 4]);
  }
});

check('options', async () => {
  const session = await open('scale', {
    intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: 'basic', enableCpuMemArena: false,
    enableMemPattern: false, executionMode: 'sequential', logId: 'client', logSeverityLevel: 3, logVerbosityLevel: 0,
    freeDimensionOverrides: { n: 2 }, executionProviders: ['cpu'], extra: { session: { set_denormal_as_zero: '1' } },
  });
  const { y } = await session.run({ x: new ort.Tensor('float32', [1, 2], [2]) }, ['y'], { tag: 't', logSeverityLevel: 4 });
  assert.deepStrictEqual(Array.from(y.data), [2, 4]);
});

check('output of the caller', async () => {
  const session = await open('scale');
  const mine = new ort.Tensor('float32', new Float32Array(2), [2]);
  await session.run({ x: new ort.Tensor('float32', [1, 2], [2]) }, { y: mine });
  assert.deepStrictEqual(Array.from(mine.data), [2, 4]);
});

check('many at once', async () => {
  const session = await open('add');
  const b = new ort.Tensor('float32', [1, 2, 3], [3]);
  const runs = Array.from({ length: 50 }, (_, i) => session.run({ a: new ort.Tensor('float32', [i, i, i], [1, 3]), b }));
  (await Promise.all(runs)).forEach(({ c }, i) => assert.deepStrictEqual(Array.from(c.data), [i + 1, i + 2, i + 3]));
});

check('no such file', () => refused(() => open('nowhere')));
check('no model', () => refused(() => ort.InferenceSession.create(Buffer.from('this is no model')), 'protobuf'));
check('missing input', async () => { const s = await open('add'); await refused(() => s.run({ a: new ort.Tensor('float32', [1, 2, 3], [1, 3]) })); });
check('wrong type', async () => {
  const s = await open('scale');
  await refused(() => s.run({ x: new ort.Tensor('int32', [1], [1]) }), 'Unexpected input data type');
});
check('wrong rank', async () => {
  const s = await open('scale');
  await refused(() => s.run({ x: new ort.Tensor('float32', [1], [1, 1]) }), 'Invalid rank for input');
});
check('wrong size', async () => {
  const s = await open('add');
  const feeds = { a: new ort.Tensor('float32', [1, 2], [1, 2]), b: new ort.Tensor('float32', [1, 2, 3], [3]) };
  await refused(() => s.run(feeds), 'Got invalid dimensions for input');
});

(async () => {
  let failed = 0;
  for (const [name, body] of checks) {
    try {
      await body();
    } catch (e) {
      failed++;
      console.log(`FAILED ${name}: ${e.message}`);
    }
  }
  console.log(`${checks.length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
})();
