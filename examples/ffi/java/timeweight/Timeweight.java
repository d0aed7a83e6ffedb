// SPDX-License-Identifier: MIT
package timeweight;

import java.io.ByteArrayOutputStream;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** libtimeweight for Java: exact time-weighted metrics of load tests. Times are long, in ns of
 *  one monotonic clock. */
public final class Timeweight {
    /** "Not recorded". */
    public static final long TIME_NONE = Long.MIN_VALUE;
    /** "Not recorded". */
    public static final long TOKENS_NONE = -1;

    private static final int OK = 0;
    private static final int ERR_NODATA = -4;

    private static final Native LIBRARY = Native.load();
    private static final Cleaner CLEANER = Cleaner.create();

    private Timeweight() {
    }

    // ------------------------------------------------------------ errors

    /** A call failed. If a record was refused, rule is not null and says why. */
    public static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;

        /** The library's status, and its name. */
        public final int status;
        public final String name;
        /** Which rule the record breaks, such as "end_before_start". */
        public final String rule;
        /** The field at fault; its row in the call; of chunks: which of the record's. */
        public final String field;
        public final long row;
        public final long index;
        /** The field's value, and what it was compared with. */
        public final long valueA;
        public final long valueB;

        private Failure(int status, ByteBuffer error) {
            super(describe(status, error));
            this.status = status;
            name = LIBRARY.string(LIBRARY.tw_status_name(status));
            rule = error == null ? null : ruleName(error);
            field = rule == null ? null : fieldName(error);
            row = error == null ? 0 : error.getLong(Struct.ERROR.offset("row"));
            index = error == null ? 0 : error.getLong(Struct.ERROR.offset("index"));
            valueA = error == null ? 0 : error.getLong(Struct.ERROR.offset("value_a"));
            valueB = error == null ? 0 : error.getLong(Struct.ERROR.offset("value_b"));
        }

        private static String ruleName(ByteBuffer error) {
            return LIBRARY.string(
                LIBRARY.tw_rule_name(error.getInt(Struct.ERROR.offset("rule"))));
        }

        private static String fieldName(ByteBuffer error) {
            String field = LIBRARY.string(
                LIBRARY.tw_field_name(error.getInt(Struct.ERROR.offset("field"))));
            return field == null ? "record" : field;
        }

        private static String describe(int status, ByteBuffer error) {
            if (error == null || ruleName(error) == null) {
                return LIBRARY.string(LIBRARY.tw_strerror(status));
            }
            int rule = error.getInt(Struct.ERROR.offset("rule"));
            return "row " + error.getLong(Struct.ERROR.offset("row")) + ": " + fieldName(error)
                + " " + LIBRARY.string(LIBRARY.tw_rule_text(rule)) + " [" + ruleName(error) + "]";
        }
    }

    private static void check(int status) {
        if (status != OK) {
            throw new Failure(status, null);
        }
    }

    // ------------------------------------------------------------ handles

    /** Owns an object of the library: until close(), or until it is collected. */
    private abstract static class Handle implements AutoCloseable {
        private interface Release {
            void release(long address);
        }

        private long address;
        private final Cleaner.Cleanable cleanable;

        Handle(long address, Release release) {
            this.address = address;
            cleanable = CLEANER.register(this, () -> release.release(address));
        }

        final long address() {
            if (address == 0) {
                throw new IllegalStateException("closed");
            }
            return address;
        }

        /** Releases the object; once more does nothing. */
        @Override
        public final void close() {
            address = 0;
            cleanable.clean();
        }
    }

    private interface Create {
        int create(long out);
    }

    private static long create(Create create) {
        ByteBuffer out = Struct.direct(8);
        check(create.create(LIBRARY.address(out)));
        return out.getLong(0);
    }

    // ------------------------------------------------------------ recorder

    /** What is known about one request; a field that is not set was not recorded. */
    public static final class Record {
        public long creditIssuedNs = TIME_NONE;
        public long startNs = TIME_NONE;
        public long generationStartNs = TIME_NONE;
        public long endNs = TIME_NONE;
        public long inputTokens = TOKENS_NONE;
        public long outputTokens = TOKENS_NONE;
        /** 0: ok or in flight, 1: failed, 2: cancelled. */
        public int status;
        /** 1: the response was to stream. */
        public int flags;
    }

    /** Many requests by field: direct buffers in native order (see longs()), all with as many
     *  values left; null: not recorded in any row. */
    public static final class Columns {
        public LongBuffer creditIssuedNs;
        public LongBuffer startNs;
        public LongBuffer generationStartNs;
        public LongBuffer endNs;
        public LongBuffer inputTokens;
        public LongBuffer outputTokens;
        public IntBuffer status;
        public IntBuffer flags;
        /** Row i has the chunks from chunkOffsets[i] up to chunkOffsets[i + 1]. */
        public LongBuffer chunkOffsets;
        public LongBuffer chunkArrivalNs;
        public LongBuffer chunkTokens;
    }

    /** A direct buffer for a column. */
    public static LongBuffer longs(int count) {
        return ByteBuffer.allocateDirect(8 * count).order(ByteOrder.nativeOrder()).asLongBuffer();
    }

    /** A direct buffer of these values. */
    public static LongBuffer longs(long... values) {
        return longs(values.length).put(values).flip();
    }

    /** Keeps one record per request. One thread at a time writes to a recorder. */
    public static final class Recorder extends Handle {
        private static final int CREDIT = Struct.RECORD.offset("credit_issued_ns");
        private static final int START = Struct.RECORD.offset("start_ns");
        private static final int GENERATION = Struct.RECORD.offset("generation_start_ns");
        private static final int END = Struct.RECORD.offset("end_ns");
        private static final int INPUT = Struct.RECORD.offset("input_tokens");
        private static final int OUTPUT = Struct.RECORD.offset("output_tokens");
        private static final int STATUS = Struct.RECORD.offset("status");
        private static final int FLAGS = Struct.RECORD.offset("flags");

        private final ByteBuffer record = Struct.RECORD.make(); // the one that append() fills
        private final long recordAddress = LIBRARY.address(record);

        public Recorder() {
            super(create(out -> LIBRARY.tw_recorder_new(out, 0)), LIBRARY::tw_recorder_free);
        }

        /** Appends one request. Failure: nothing was stored. */
        public void append(Record r) {
            record.putLong(CREDIT, r.creditIssuedNs);
            record.putLong(START, r.startNs);
            record.putLong(GENERATION, r.generationStartNs);
            record.putLong(END, r.endNs);
            record.putLong(INPUT, r.inputTokens);
            record.putLong(OUTPUT, r.outputTokens);
            record.putInt(STATUS, r.status);
            record.putInt(FLAGS, r.flags);
            checkAppend(LIBRARY.tw_recorder_append(address(), recordAddress, 1,
                                                   Struct.RECORD.size, 0, 0));
            Reference.reachabilityFence(this);
        }

        /** Appends many requests, all or none. */
        public void append(Columns c) {
            ByteBuffer table = Struct.COLUMNS.make();
            int rows = c.startNs == null ? 0 : c.startNs.remaining();
            table.putLong(Struct.COLUMNS.offset("count"), rows);
            put(table, "credit_issued_ns", c.creditIssuedNs, rows);
            put(table, "start_ns", c.startNs, rows);
            put(table, "generation_start_ns", c.generationStartNs, rows);
            put(table, "end_ns", c.endNs, rows);
            put(table, "input_tokens", c.inputTokens, rows);
            put(table, "output_tokens", c.outputTokens, rows);
            put(table, "status", c.status, rows);
            put(table, "record_flags", c.flags, rows);
            int chunks = c.chunkArrivalNs == null ? 0 : c.chunkArrivalNs.remaining();
            put(table, "chunk_offsets", c.chunkOffsets, rows + 1);
            put(table, "chunk_arrival_ns", c.chunkArrivalNs, chunks);
            put(table, "chunk_tokens", c.chunkTokens, chunks);
            table.putLong(Struct.COLUMNS.offset("chunk_value_count"), chunks);
            checkAppend(LIBRARY.tw_recorder_append_columns(address(), LIBRARY.address(table), 0,
                                                           0));
            Reference.reachabilityFence(table);
            Reference.reachabilityFence(c);
            Reference.reachabilityFence(this);
        }

        private static void put(ByteBuffer table, String column, Buffer values, int count) {
            if (values == null) {
                return;
            }
            ByteOrder order = values instanceof LongBuffer ? ((LongBuffer) values).order()
                : ((IntBuffer) values).order();
            if (!values.isDirect() || order != ByteOrder.nativeOrder()
                || values.remaining() != count) {
                throw new IllegalArgumentException(
                    column + ": a direct buffer of " + count + " in native order is needed");
            }
            int width = values instanceof LongBuffer ? 8 : 4;
            // Of a column this is the member values, which is its first.
            table.putLong(Struct.COLUMNS.offset(column), count == 0 ? 0
                : LIBRARY.address(values.duplicate().clear()) + (long) values.position() * width);
        }

        /** Number of records stored. */
        public long count() {
            long count = LIBRARY.tw_recorder_count(address());
            Reference.reachabilityFence(this);
            return count;
        }

        private void checkAppend(int status) {
            if (status != OK) {
                ByteBuffer error = Struct.ERROR.make();
                check(LIBRARY.tw_recorder_last_error(address(), LIBRARY.address(error)));
                boolean ours = error.getInt(Struct.ERROR.offset("status")) == status;
                throw new Failure(status, ours ? error : null);
            }
        }
    }

    // ------------------------------------------------------------ the registry

    /** A row of the registry. */
    public static final class Metric {
        public final int id;
        public final String tag;
        public final String header;
        public final String unit;
        public final String description;

        private Metric(ByteBuffer row) {
            id = row.getInt(Struct.METRIC_ROW.offset("id"));
            tag = text(row, "tag");
            header = text(row, "header");
            unit = text(row, "unit");
            description = text(row, "description");
        }

        private static String text(ByteBuffer row, String member) {
            return LIBRARY.string(row.getLong(Struct.METRIC_ROW.offset(member)));
        }
    }

    /** All metrics by their tags, in the order of a report. */
    public static Map<String, Metric> metrics() {
        Map<String, Metric> metrics = new LinkedHashMap<>();
        for (long i = 0; i < LIBRARY.tw_metric_count(); i++) {
            ByteBuffer row = Struct.METRIC_ROW.make();
            check(LIBRARY.tw_metric_info(i, LIBRARY.address(row)));
            Metric metric = new Metric(row);
            metrics.put(metric.tag, metric);
        }
        return metrics;
    }

    private static final Map<String, Metric> METRICS = metrics();

    private static int idOf(String tag) {
        Metric metric = METRICS.get(tag);
        if (metric == null) {
            throw new IllegalArgumentException("there is no metric " + tag);
        }
        return metric.id;
    }

    // ------------------------------------------------------------ analysis

    /** One metric in numbers, in its unit. */
    public static final class Summary {
        public final double avg;
        public final OptionalDouble min;
        public final OptionalDouble max;
        public final OptionalDouble std;
        public final OptionalDouble sum;
        public final OptionalLong weightNs;
        public final OptionalLong activeNs;
        public final OptionalLong count;

        private Summary(ByteBuffer s) {
            avg = s.getDouble(Struct.SUMMARY.offset("avg"));
            min = real(s, 2, "min");
            max = real(s, 4, "max");
            std = real(s, 8, "std");
            sum = real(s, 16, "sum");
            weightNs = whole(s, 32, "weight_ns");
            activeNs = whole(s, 64, "active_ns");
            count = whole(s, 128, "count");
        }

        private static boolean has(ByteBuffer s, int bit) {
            return (s.getInt(Struct.SUMMARY.offset("fields")) & bit) != 0;
        }

        private static OptionalDouble real(ByteBuffer s, int bit, String member) {
            return has(s, bit) ? OptionalDouble.of(s.getDouble(Struct.SUMMARY.offset(member)))
                : OptionalDouble.empty();
        }

        private static OptionalLong whole(ByteBuffer s, int bit, String member) {
            return has(s, bit) ? OptionalLong.of(s.getLong(Struct.SUMMARY.offset(member)))
                : OptionalLong.empty();
        }
    }

    /** An immutable result; any thread may ask it. Metrics are named by tag; empty: one was not
     *  measured in this run. */
    public static final class Analysis extends Handle {
        /** Analyses recorders as one run. */
        public Analysis(Recorder... recorders) {
            this(TIME_NONE, TIME_NONE, recorders);
        }

        /** The same in a window; TIME_NONE: the run's own edge. */
        public Analysis(long beginNs, long endNs, Recorder... recorders) {
            super(create(out -> analyze(out, beginNs, endNs, recorders)),
                  LIBRARY::tw_analysis_free);
        }

        private static int analyze(long out, long beginNs, long endNs, Recorder[] recorders) {
            ByteBuffer options = Struct.OPTIONS.make();
            options.putInt(Struct.OPTIONS.offset("flags"),
                           (beginNs == TIME_NONE ? 0 : 1) | (endNs == TIME_NONE ? 0 : 2));
            options.putLong(Struct.OPTIONS.offset("window_begin_ns"),
                            beginNs == TIME_NONE ? 0 : beginNs);
            options.putLong(Struct.OPTIONS.offset("window_end_ns"),
                            endNs == TIME_NONE ? 0 : endNs);
            LongBuffer handles = longs(recorders.length);
            for (Recorder recorder : recorders) {
                handles.put(recorder.address());
            }
            int status = LIBRARY.tw_analyze(
                out, recorders.length == 0 ? 0 : LIBRARY.address(handles.flip()), recorders.length,
                LIBRARY.address(options));
            Reference.reachabilityFence(recorders);
            Reference.reachabilityFence(handles);
            Reference.reachabilityFence(options);
            return status;
        }

        public Optional<Summary> summary(String metric) {
            ByteBuffer summary = Struct.SUMMARY.make();
            int status = LIBRARY.tw_analysis_summary(address(), idOf(metric),
                                                     LIBRARY.address(summary));
            Reference.reachabilityFence(this);
            if (status == ERR_NODATA) {
                return Optional.empty();
            }
            check(status);
            return Optional.of(new Summary(summary));
        }

        public Optional<double[]> quantiles(String metric, double... q) {
            ByteBuffer wanted = Struct.direct(8 * Math.max(q.length, 1));
            ByteBuffer found = Struct.direct(8 * Math.max(q.length, 1));
            wanted.asDoubleBuffer().put(q);
            int status = LIBRARY.tw_analysis_quantiles(address(), idOf(metric),
                LIBRARY.address(wanted), LIBRARY.address(found), q.length);
            Reference.reachabilityFence(this);
            Reference.reachabilityFence(wanted);
            if (status == ERR_NODATA) {
                return Optional.empty();
            }
            check(status);
            double[] values = new double[q.length];
            found.asDoubleBuffer().get(values);
            return Optional.of(values);
        }

        /** The whole report: "text", "csv" or "json". */
        public String report(String format) {
            int number = List.of("text", "csv", "json").indexOf(format) + 1;
            if (number == 0) {
                throw new IllegalArgumentException("there is no format " + format);
            }
            ByteArrayOutputStream report = new ByteArrayOutputStream();
            check(LIBRARY.tw_report_write(address(), number, bytes -> {
                report.write(bytes, 0, bytes.length);
                return true;
            }));
            Reference.reachabilityFence(this);
            return report.toString(StandardCharsets.US_ASCII);
        }
    }
}
