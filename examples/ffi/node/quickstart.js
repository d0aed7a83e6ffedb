// SPDX-License-Identifier: MIT
'use strict';

// examples/quickstart.c in JavaScript: prints the same to the last digit.

const { Analysis, Recorder, TimeweightError, metrics } = require('./timeweight.js');

const MS = 1_000_000n; // ns
const HALF = 20; // of the 40 requests

const dueNs = (i) => BigInt(Math.floor(i / 4) * 2100 + i % 4) * MS;
const decodeNs = (i) => BigInt(1600 + 9 * i) * MS;

/** As C's "%.17g", for numbers of ordinary size. */
function digits(value) {
  const text = value.toPrecision(17);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

const recorder = new Recorder();
let analysis;
try {
  // The first half of the run: each request is appended when it has ended.
  for (let i = 0; i < HALF; i++) {
    const startNs = dueNs(i) + 5n * MS;
    recorder.append({
      creditIssuedNs: dueNs(i),
      startNs,
      generationStartNs: startNs + 100n * MS,
      endNs: startNs + 100n * MS + decodeNs(i),
      inputTokens: 200,
      outputTokens: 100,
    });
  }

  // The second half: the requests lie in columns, and one call takes them all.
  const rows = Array.from({ length: HALF }, (_, row) => HALF + row);
  const startNs = BigInt64Array.from(rows, (i) => dueNs(i) + 5n * MS);
  recorder.appendColumns({
    creditIssuedNs: BigInt64Array.from(rows, dueNs),
    startNs,
    generationStartNs: startNs.map((ns) => ns + 100n * MS),
    endNs: startNs.map((ns, row) => ns + 100n * MS + decodeNs(HALF + row)),
    inputTokens: new BigInt64Array(HALF).fill(200n),
    outputTokens: new BigInt64Array(HALF).fill(100n),
  });

  // A row that cannot be: nothing of the call is stored, and the error says why.
  try {
    recorder.appendColumns({
      startNs: BigInt64Array.of(0n, 500n * MS),
      endNs: BigInt64Array.of(100n * MS, 400n * MS),
    });
  } catch (error) {
    if (!(error instanceof TimeweightError) || !error.rule) {
      throw error;
    }
    console.log(`refused: ${error.message}`);
  }

  analysis = new Analysis(recorder);
  for (const { tag, unit } of metrics()) {
    const summary = analysis.summary(tag);
    if (summary) {
      console.log(tag, digits(summary.avg), unit);
    }
  }
  const [p50, p99] = analysis.quantiles('effective_latency', [0.5, 0.99]);
  console.log(`effective latency: p50 ${digits(p50)} ms, p99 ${digits(p99)} ms`);
} finally {
  analysis?.close();
  recorder.close();
}
