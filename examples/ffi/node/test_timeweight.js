// SPDX-License-Identifier: MIT
'use strict';

// Sizes and offsets are those of the compiler; TIMEWEIGHT_LAYOUT names the output of
// examples/ffi/layout.c. And what the quick start does not use works.

const assert = require('assert');
const fs = require('fs');
const koffi = require('koffi');
const { Analysis, Recorder, structs } = require('./timeweight.js');

const compiled = fs.readFileSync(process.env.TIMEWEIGHT_LAYOUT, 'utf8').trim().split('\n');
const types = Object.keys(structs);
assert(types.length >= 8);
for (const type of types) {
  const members = koffi.type(type).members;
  const lines = [`${type} ${koffi.sizeof(type)}`];
  for (const member of structs[type]) {
    const size = koffi.sizeof(members[member].type);
    lines.push(`${type}.${member} ${koffi.offsetof(type, member)} ${size}`);
  }
  assert.deepStrictEqual(lines, compiled.filter((line) => line.split(/[ .]/)[0] === type));
}

const recorder = new Recorder();
assert.throws(() => recorder.append({ startNs: 0 }), TypeError);
assert.throws(() => recorder.append({ startNs: 2n ** 63n }), TypeError);
assert.throws(() => recorder.appendColumns({ startNs: [0n] }), TypeError);
assert.throws(() => recorder.appendColumns({ began: BigInt64Array.of(0n) }), TypeError);
assert.throws(() => recorder.append({ startNs: 5n, endNs: 4n, status: 1 }),
              { code: 'TW_ERR_RANGE', rule: 'end_before_start', row: 0, valueA: 4n, valueB: 5n });
const epoch = 1_760_000_000_123_456_789n; // beyond what a number holds
recorder.append({ startNs: epoch, endNs: epoch + 1n, status: 1 });
recorder.appendColumns({
  startNs: BigInt64Array.of(epoch + 1n),
  generationStartNs: BigInt64Array.of(epoch + 1n),
  endNs: BigInt64Array.of(epoch + 4n),
  status: Int32Array.of(0),
  flags: Uint32Array.of(1),
  chunkOffsets: BigUint64Array.of(0n, 2n),
  chunkArrivalNs: BigInt64Array.of(epoch + 2n, epoch + 4n),
  chunkTokens: BigInt64Array.of(1n, 1n),
});
const { issued, ok, failed } = recorder.balance();
assert.deepStrictEqual([issued, ok, failed].map(Number), [2, 1, 1]);
const analysis = new Analysis([recorder], { beginNs: epoch, endNs: epoch + 4n });
assert.deepStrictEqual(analysis.summary('effective_concurrency'),
                       { avg: 1, min: 1, max: 1, std: 0, weightNs: 4n });
assert.strictEqual(analysis.summary('inter_chunk_latency').count, 2);
assert.strictEqual(analysis.summary('effective_latency'), null);
assert.strictEqual(JSON.parse(analysis.report('json')).balance.issued, 2);
assert(analysis.report().includes('Effective Concurrency (requests)'));
analysis.close();
recorder.close();
recorder.close();
assert.throws(() => recorder.append({ startNs: 0n }), /closed/);
console.log(`${types.length} structs`);
