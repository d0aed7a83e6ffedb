// SPDX-License-Identifier: MIT

import static timeweight.Timeweight.longs;

import java.nio.LongBuffer;
import java.util.Locale;
import java.util.function.Consumer;
import timeweight.Timeweight.Columns;
import timeweight.Timeweight.Record;
import timeweight.Timeweight.Recorder;

/** See bench.c. */
public final class Bench {
    private static final int ROWS = 1_000_000;

    private static double best(Consumer<Recorder> append) {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 10; round++) {
            try (Recorder recorder = new Recorder()) {
                long begin = System.nanoTime();
                append.accept(recorder);
                best = Math.min(best, System.nanoTime() - begin);
            }
        }
        return (double) best / ROWS;
    }

    private static void appendInALoop(Recorder recorder) {
        for (long i = 0; i < ROWS; i++) {
            Record record = new Record();
            record.creditIssuedNs = i * 1000;
            record.startNs = i * 1000 + 5;
            record.generationStartNs = i * 1000 + 100;
            record.endNs = i * 1000 + 5000;
            record.inputTokens = 200;
            record.outputTokens = 100;
            recorder.append(record);
        }
    }

    private static LongBuffer column(long first, long step) {
        LongBuffer values = longs(ROWS);
        for (int i = 0; i < ROWS; i++) {
            values.put(i, first + i * step);
        }
        return values;
    }

    public static void main(String[] arguments) {
        Columns columns = new Columns();
        columns.creditIssuedNs = column(0, 1000);
        columns.startNs = column(5, 1000);
        columns.generationStartNs = column(100, 1000);
        columns.endNs = column(5000, 1000);
        columns.inputTokens = column(200, 0);
        columns.outputTokens = column(100, 0);
        System.out.printf(Locale.ROOT, "java %.1f %.1f%n", best(Bench::appendInALoop),
                          best(recorder -> recorder.append(columns)));
    }
}
