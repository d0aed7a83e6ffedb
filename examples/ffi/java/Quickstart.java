// SPDX-License-Identifier: MIT

import static timeweight.Timeweight.longs;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import timeweight.Timeweight;
import timeweight.Timeweight.Analysis;
import timeweight.Timeweight.Columns;
import timeweight.Timeweight.Metric;
import timeweight.Timeweight.Record;
import timeweight.Timeweight.Recorder;

/** examples/quickstart.c in Java: prints the same to the last digit. */
public final class Quickstart {
    private static final long MS = 1_000_000; // ns
    private static final int HALF = 20; // of the 40 requests

    private static long dueNs(int i) {
        return i / 4 * 2100 * MS + i % 4 * MS;
    }

    private static long decodeNs(int i) {
        return (1600 + 9 * i) * MS;
    }

    /** The first half of the run: each request is appended when it has ended. */
    private static void appendInALoop(Recorder recorder) {
        for (int i = 0; i < HALF; i++) {
            Record record = new Record();
            record.creditIssuedNs = dueNs(i);
            record.startNs = record.creditIssuedNs + 5 * MS;
            record.generationStartNs = record.startNs + 100 * MS;
            record.endNs = record.generationStartNs + decodeNs(i);
            record.inputTokens = 200;
            record.outputTokens = 100;
            recorder.append(record);
        }
    }

    /** The second half: the requests lie in columns, and one call takes them all. */
    private static void appendColumns(Recorder recorder) {
        Columns columns = new Columns();
        columns.creditIssuedNs = longs(HALF);
        columns.startNs = longs(HALF);
        columns.generationStartNs = longs(HALF);
        columns.endNs = longs(HALF);
        columns.inputTokens = longs(HALF);
        columns.outputTokens = longs(HALF);
        for (int row = 0; row < HALF; row++) {
            long startNs = dueNs(HALF + row) + 5 * MS;
            columns.creditIssuedNs.put(row, dueNs(HALF + row));
            columns.startNs.put(row, startNs);
            columns.generationStartNs.put(row, startNs + 100 * MS);
            columns.endNs.put(row, startNs + 100 * MS + decodeNs(HALF + row));
            columns.inputTokens.put(row, 200);
            columns.outputTokens.put(row, 100);
        }
        recorder.append(columns);
    }

    /** A row that cannot be: nothing of the call is stored, and the failure says why. */
    private static void appendNonsense(Recorder recorder) {
        Columns columns = new Columns();
        columns.startNs = longs(0, 500 * MS);
        columns.endNs = longs(100 * MS, 400 * MS);
        try {
            recorder.append(columns);
        } catch (Timeweight.Failure failure) {
            if (failure.rule == null) {
                throw failure;
            }
            System.out.println("refused: " + failure.getMessage());
        }
    }

    /** As C's "%.17g", for numbers of ordinary size. */
    private static String digits(double value) {
        return value == 0 ? "0" : new BigDecimal(value)
            .round(new MathContext(17, RoundingMode.HALF_EVEN)).stripTrailingZeros()
            .toPlainString();
    }

    public static void main(String[] arguments) {
        try (Recorder recorder = new Recorder()) {
            appendInALoop(recorder);
            appendColumns(recorder);
            appendNonsense(recorder);
            try (Analysis analysis = new Analysis(recorder)) {
                for (Metric metric : Timeweight.metrics().values()) {
                    analysis.summary(metric.tag).ifPresent(summary -> System.out.println(
                        metric.tag + " " + digits(summary.avg) + " " + metric.unit));
                }
                double[] ms = analysis.quantiles("effective_latency", 0.5, 0.99).orElseThrow();
                System.out.println("effective latency: p50 " + digits(ms[0]) + " ms, p99 "
                    + digits(ms[1]) + " ms");
            }
        }
    }
}
