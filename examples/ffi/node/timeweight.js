// SPDX-License-Identifier: MIT
'use strict';

// libtimeweight for Node, over koffi. Times are BigInt: a number holds integers up to 2^53 only,
// and epoch nanoseconds are beyond it. Columns are BigInt64Array, read where they lie.
//
// TIMEWEIGHT_LIBRARY may name the shared library by its path.

const koffi = require('koffi');

const name = process.platform === 'darwin' ? 'libtimeweight.0.dylib' : 'libtimeweight.so.0';
const library = koffi.load(process.env.TIMEWEIGHT_LIBRARY || name);

const TIME_NONE = -(2n ** 63n); // "not recorded"
const TOKENS_NONE = -1n;
const OK = 0;
const ERR_NODATA = -4;

const RULES = 32;

// ---------------------------------------------------------------- the interface in C

const structs = {};

function struct(type, members) {
  structs[type] = Object.keys(members);
  return koffi.struct(type, members);
}

struct('tw_error', {
  struct_size: 'uint32_t', status: 'int32_t', rule: 'int32_t', field: 'int32_t',
  row: 'uint64_t', index: 'uint64_t', value_a: 'int64_t', value_b: 'int64_t',
});
struct('tw_record', {
  credit_issued_ns: 'int64_t', start_ns: 'int64_t', generation_start_ns: 'int64_t',
  end_ns: 'int64_t', input_tokens: 'int64_t', output_tokens: 'int64_t',
  chunk_arrival_ns: 'const void *', chunk_tokens: 'const void *', chunk_count: 'uint64_t',
  status: 'int32_t', flags: 'uint32_t',
});
struct('tw_column', {
  values: 'const void *', validity: 'const void *', stride: 'uint64_t', flags: 'uint32_t',
  reserved: 'uint32_t',
});
struct('tw_columns', {
  struct_size: 'uint32_t', flags: 'uint32_t', count: 'uint64_t',
  credit_issued_ns: 'tw_column', start_ns: 'tw_column', generation_start_ns: 'tw_column',
  end_ns: 'tw_column', input_tokens: 'tw_column', output_tokens: 'tw_column',
  status: 'tw_column', record_flags: 'tw_column', chunk_offsets: 'const void *',
  chunk_arrival_ns: 'const void *', chunk_tokens: 'const void *', chunk_value_count: 'uint64_t',
});
struct('tw_balance', {
  struct_size: 'uint32_t', flags: 'uint32_t', issued: 'uint64_t', ok: 'uint64_t',
  failed: 'uint64_t', cancelled: 'uint64_t', in_flight: 'uint64_t', refused: 'uint64_t',
  credit_after_start: 'uint64_t', chunk_tokens_ignored: 'uint64_t',
  refused_by_rule: koffi.array('uint64_t', RULES, 'Array'), overlapping: 'uint64_t',
  members: 'uint64_t', cut_at_begin: 'uint64_t', cut_at_end: 'uint64_t',
});
struct('tw_metric_row', {
  struct_size: 'uint32_t', id: 'int32_t', group: 'int32_t', kind: 'int32_t', mask: 'int32_t',
  better: 'int32_t', tag: 'const char *', header: 'const char *', unit: 'const char *',
  description: 'const char *',
});
struct('tw_options', {
  struct_size: 'uint32_t', flags: 'uint32_t', window_begin_ns: 'int64_t',
  window_end_ns: 'int64_t', kernel: 'int32_t', threads: 'uint32_t', executor: 'void *',
  executor_data: 'void *', quantiles: 'const void *', allocator: 'const void *',
  quantile_count: 'uint64_t',
});
struct('tw_summary', {
  struct_size: 'uint32_t', fields: 'uint32_t', flags: 'uint32_t', reserved: 'uint32_t',
  error_bound: 'double', avg: 'double', min: 'double', max: 'double', std: 'double',
  sum: 'double', weight_ns: 'int64_t', active_ns: 'int64_t', count: 'uint64_t',
});
koffi.opaque('tw_recorder');
koffi.opaque('tw_analysis');
koffi.proto('int32_t tw_write_fn(void *user_data, const uint8_t *bytes, size_t length)');

const c = {};
for (const declaration of [
  'const char *tw_version_string()',
  'const char *tw_strerror(int32_t status)',
  'const char *tw_status_name(int32_t status)',
  'const char *tw_rule_name(int32_t rule)',
  'const char *tw_rule_text(int32_t rule)',
  'const char *tw_field_name(int32_t field)',
  'int32_t tw_recorder_new(_Out_ tw_recorder **recorder, void *options)',
  'void tw_recorder_free(tw_recorder *recorder)',
  'int32_t tw_recorder_append(tw_recorder *recorder, const void *records, size_t count, ' +
    'size_t record_size, uint32_t flags, void *accepted)',
  'int32_t tw_recorder_append_columns(tw_recorder *recorder, tw_columns *columns, ' +
    'uint32_t flags, _Out_ size_t *accepted)',
  'int32_t tw_recorder_balance(tw_recorder *recorder, _Inout_ tw_balance *balance)',
  'int32_t tw_recorder_last_error(tw_recorder *recorder, _Inout_ tw_error *error)',
  'size_t tw_metric_count()',
  'int32_t tw_metric_info(size_t index, _Inout_ tw_metric_row *row)',
  'int32_t tw_analyze(_Out_ tw_analysis **analysis, tw_recorder **recorders, size_t count, ' +
    'tw_options *options)',
  'void tw_analysis_free(tw_analysis *analysis)',
  'int32_t tw_analysis_summary(tw_analysis *analysis, int32_t metric, ' +
    '_Inout_ tw_summary *summary)',
  'int32_t tw_analysis_quantiles(tw_analysis *analysis, int32_t metric, const void *q, ' +
    'void *values, size_t count)',
  'int32_t tw_report_write(tw_analysis *analysis, int32_t format, void *options, ' +
    'tw_write_fn *write, void *user_data)',
]) {
  const [, called] = declaration.match(/(tw_\w+)\(/);
  c[called] = library.func(declaration);
}

/** A struct that begins with its own size, and is zero otherwise. */
function sized(type) {
  const value = { struct_size: koffi.sizeof(type) };
  for (const [member, { type: kind }] of Object.entries(koffi.type(type).members)) {
    if (member !== 'struct_size') {
      value[member] = zero(kind);
    }
  }
  return value;
}

function zero(kind) {
  if (kind.primitive === 'Pointer' || kind.primitive === 'String') {
    return null;
  }
  if (kind.primitive === 'Array') {
    return new Array(kind.length).fill(0);
  }
  if (kind.primitive === 'Record') {
    return Object.fromEntries(
      Object.entries(kind.members).map(([member, { type }]) => [member, zero(type)]));
  }
  return 0;
}

// ---------------------------------------------------------------- errors

/** A call failed. If a record was refused: rule, field, row, index, valueA and valueB say why. */
class TimeweightError extends Error {
  constructor(status, error) {
    const rule = error && c.tw_rule_name(error.rule);
    const field = error && (c.tw_field_name(error.field) || 'record');
    super(rule ? `row ${error.row}: ${field} ${c.tw_rule_text(error.rule)} [${rule}]`
               : c.tw_strerror(status));
    this.name = 'TimeweightError';
    this.status = status;
    this.code = c.tw_status_name(status);
    if (rule) {
      Object.assign(this, {
        rule, field, row: Number(error.row), index: Number(error.index),
        valueA: BigInt(error.value_a), valueB: BigInt(error.value_b),
      });
    }
  }
}

function check(status) {
  if (status !== OK) {
    throw new TimeweightError(status);
  }
}

// ---------------------------------------------------------------- handles

const forgotten = new FinalizationRegistry(({ free, pointer }) => free(pointer));

/** Owns an object of the library until close(), or until it is collected. */
class Handle {
  #pointer;
  #free;

  constructor(pointer, free) {
    this.#pointer = pointer;
    this.#free = free;
    forgotten.register(this, { free, pointer }, this);
  }

  get pointer() {
    if (this.#pointer === null) {
      throw new Error(`this ${this.constructor.name} is closed`);
    }
    return this.#pointer;
  }

  close() {
    if (this.#pointer !== null) {
      forgotten.unregister(this);
      this.#free(this.#pointer);
      this.#pointer = null;
    }
  }
}

const COLUMNS = {
  creditIssuedNs: 'credit_issued_ns',
  startNs: 'start_ns',
  generationStartNs: 'generation_start_ns',
  endNs: 'end_ns',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  status: 'status',
  flags: 'record_flags',
};
const TYPES = { status: Int32Array, flags: Uint32Array };
const RECORD_SIZE = koffi.sizeof('tw_record');

/** Keeps one record per request. */
class Recorder extends Handle {
  // One tw_record: eight integers of 64 bits (two pointers and a count of chunks among them),
  // then status and flags.
  #record = new BigInt64Array(RECORD_SIZE / 8);
  #ends = new Int32Array(this.#record.buffer, koffi.offsetof('tw_record', 'status'), 2);

  constructor() {
    const out = [null];
    check(c.tw_recorder_new(out, null));
    super(out[0], c.tw_recorder_free);
  }

  /** Appends one request; what is not given was not recorded. Times are BigInt. */
  append({ startNs, endNs = TIME_NONE, generationStartNs = TIME_NONE, creditIssuedNs = TIME_NONE,
           inputTokens = TOKENS_NONE, outputTokens = TOKENS_NONE, status = 0, flags = 0 }) {
    const record = this.#record;
    record[0] = int64('creditIssuedNs', creditIssuedNs);
    record[1] = int64('startNs', startNs);
    record[2] = int64('generationStartNs', generationStartNs);
    record[3] = int64('endNs', endNs);
    record[4] = BigInt(inputTokens);
    record[5] = BigInt(outputTokens);
    this.#ends[0] = status;
    this.#ends[1] = flags;
    this.#check(c.tw_recorder_append(this.pointer, record, 1, RECORD_SIZE, 0, null));
  }

  /** Appends many requests, all or none, from BigInt64Array (status: Int32Array, flags:
   *  Uint32Array). Row i has the chunks from chunkOffsets[i] (BigUint64Array) up to
   *  chunkOffsets[i + 1] of chunkArrivalNs and chunkTokens. Returns how many were stored. */
  appendColumns({ chunkOffsets, chunkArrivalNs, chunkTokens, ...columns }) {
    const table = sized('tw_columns');
    table.count = columns.startNs ? columns.startNs.length : 0;
    for (const [key, values] of Object.entries(columns)) {
      const Type = TYPES[key] || BigInt64Array;
      if (!(key in COLUMNS)) {
        throw new TypeError(`there is no column ${key}`);
      }
      column(key, values, Type, table.count);
      table[COLUMNS[key]].values = values;
    }
    if (chunkOffsets) {
      table.chunk_offsets = column('chunkOffsets', chunkOffsets, BigUint64Array, table.count + 1);
    }
    if (chunkArrivalNs) {
      table.chunk_value_count = chunkArrivalNs.length;
      table.chunk_arrival_ns =
        column('chunkArrivalNs', chunkArrivalNs, BigInt64Array, chunkArrivalNs.length);
    }
    if (chunkTokens) {
      table.chunk_tokens =
        column('chunkTokens', chunkTokens, BigInt64Array, table.chunk_value_count);
    }
    const accepted = [0];
    this.#check(c.tw_recorder_append_columns(this.pointer, table, 0, accepted));
    return Number(accepted[0]);
  }

  balance() {
    const balance = sized('tw_balance');
    check(c.tw_recorder_balance(this.pointer, balance));
    return balance;
  }

  #check(status) {
    if (status !== OK) {
      const error = sized('tw_error');
      check(c.tw_recorder_last_error(this.pointer, error));
      throw new TimeweightError(status, error.status === status ? error : null);
    }
  }
}

/** A BigInt64Array would take the low 64 bits without a word. */
function int64(key, value) {
  if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) {
    throw new TypeError(`${key}: a BigInt of 64 bits is needed`);
  }
  return value;
}

function column(key, values, Type, length) {
  if (!(values instanceof Type) || values.length !== length) {
    throw new TypeError(`${key}: a ${Type.name} of ${length} is needed`);
  }
  return values;
}

// ---------------------------------------------------------------- analysis

/** The registry, in the order of a report. */
function metrics() {
  return Array.from({ length: Number(c.tw_metric_count()) }, (_, index) => {
    const row = sized('tw_metric_row');
    check(c.tw_metric_info(index, row));
    return row;
  });
}

const ids = new Map(metrics().map(({ tag, id }) => [tag, id]));

function idOf(metric) {
  if (!ids.has(metric)) {
    throw new RangeError(`there is no metric ${metric}`);
  }
  return ids.get(metric);
}

const number = (value) => value;
const FIELDS = [ // by their bits: name, name in C, type
  ['avg', 'avg', number], ['min', 'min', number], ['max', 'max', number], ['std', 'std', number],
  ['sum', 'sum', number], ['weightNs', 'weight_ns', BigInt], ['activeNs', 'active_ns', BigInt],
  ['count', 'count', Number],
];
const FORMATS = { text: 1, csv: 2, json: 3 };

/** An immutable result over one recorder or several, in a window or over the whole run. Metrics
 *  are named by tag; null means that one was not measured in this run. */
class Analysis extends Handle {
  constructor(recorders, { beginNs, endNs } = {}) {
    const pointers = [].concat(recorders).map((recorder) => recorder.pointer);
    const options = sized('tw_options');
    if (beginNs !== undefined) {
      options.flags |= 1;
      options.window_begin_ns = int64('beginNs', beginNs);
    }
    if (endNs !== undefined) {
      options.flags |= 2;
      options.window_end_ns = int64('endNs', endNs);
    }
    const out = [null];
    check(c.tw_analyze(out, pointers, pointers.length, options));
    super(out[0], c.tw_analysis_free);
  }

  /** { avg, min, max, ... }: what the metric has, in its unit. */
  summary(metric) {
    const summary = sized('tw_summary');
    const status = c.tw_analysis_summary(this.pointer, idOf(metric), summary);
    if (status === ERR_NODATA) {
      return null;
    }
    check(status);
    return Object.fromEntries(FIELDS.filter((_, bit) => summary.fields >> bit & 1)
      .map(([name, member, type]) => [name, type(summary[member])]));
  }

  /** A Float64Array of the values at q. */
  quantiles(metric, q) {
    const values = new Float64Array(q.length);
    const status = c.tw_analysis_quantiles(this.pointer, idOf(metric), Float64Array.from(q), values,
                                           q.length);
    if (status === ERR_NODATA) {
      return null;
    }
    check(status);
    return values;
  }

  /** The whole report: 'text', 'csv' or 'json'. */
  report(format = 'text') {
    const pieces = [];
    const write = koffi.register((_, bytes, length) => {
      pieces.push(Buffer.from(koffi.decode(bytes, 'uint8_t', Number(length))));
      return 0;
    }, 'tw_write_fn *');
    try {
      check(c.tw_report_write(this.pointer, FORMATS[format], null, write, null));
    } finally {
      koffi.unregister(write);
    }
    return Buffer.concat(pieces).toString();
  }
}

module.exports = {
  Analysis, Recorder, TIME_NONE, TOKENS_NONE, TimeweightError, metrics, structs,
  version: c.tw_version_string,
};
