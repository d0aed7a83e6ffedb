// SPDX-License-Identifier: MIT
'use strict';

// See bench.c.

const { Recorder } = require('./timeweight.js');

const ROWS = 1_000_000;

function best(append) {
  let best = Infinity;
  for (let round = 0; round < 10; round++) {
    const recorder = new Recorder();
    const begin = process.hrtime.bigint();
    append(recorder);
    best = Math.min(best, Number(process.hrtime.bigint() - begin));
    recorder.close();
  }
  return (best / ROWS).toFixed(1);
}

const loop = best((recorder) => {
  for (let i = 0n; i < BigInt(ROWS); i++) {
    const ns = i * 1000n;
    recorder.append({
      creditIssuedNs: ns, startNs: ns + 5n, generationStartNs: ns + 100n, endNs: ns + 5000n,
      inputTokens: 200n, outputTokens: 100n,
    });
  }
});
const column = (added) =>
  BigInt64Array.from({ length: ROWS }, (_, i) => BigInt(i) * 1000n + added);
const columns = {
  creditIssuedNs: column(0n), startNs: column(5n), generationStartNs: column(100n),
  endNs: column(5000n), inputTokens: new BigInt64Array(ROWS).fill(200n),
  outputTokens: new BigInt64Array(ROWS).fill(100n),
};
console.log('node', loop, best((recorder) => recorder.appendColumns(columns)));
