// SPDX-License-Identifier: MIT
package timeweight;

import static timeweight.Timeweight.longs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.LongBuffer;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import timeweight.Timeweight.Analysis;
import timeweight.Timeweight.Columns;
import timeweight.Timeweight.Record;
import timeweight.Timeweight.Recorder;

/** Sizes and offsets are those of the compiler; TIMEWEIGHT_LAYOUT names the output of
 *  examples/ffi/layout.c. And what the quick start does not use works. */
public final class TimeweightTest {
    private static void equal(Object got, Object want) {
        if (!got.equals(want)) {
            throw new AssertionError(got + ", not " + want);
        }
    }

    private interface Action {
        void run();
    }

    private static <T extends Throwable> T thrown(Class<T> type, Action action) {
        try {
            action.run();
        } catch (Throwable e) {
            return type.cast(e);
        }
        throw new AssertionError("no " + type.getName());
    }

    private static void layout() throws Exception {
        List<String> compiled = Files.readAllLines(Path.of(System.getenv("TIMEWEIGHT_LAYOUT")));
        equal(Struct.ALL.size(), 7);
        for (Struct struct : Struct.ALL.values()) {
            equal(struct.layout(), compiled.stream()
                .filter(line -> line.split("[ .]")[0].equals(struct.name))
                .collect(Collectors.toList()));
        }
    }

    private static void refusals(Recorder recorder) {
        Record backwards = new Record();
        backwards.startNs = 5;
        backwards.endNs = 4;
        Timeweight.Failure failure =
            thrown(Timeweight.Failure.class, () -> recorder.append(backwards));
        equal(failure.name + " " + failure.rule + " " + failure.field,
              "TW_ERR_RANGE end_before_start end_ns");
        equal(failure.row + " " + failure.valueA + " " + failure.valueB, "0 4 5");

        Columns columns = new Columns();
        columns.startNs = longs(0, 1);
        columns.endNs = longs(1);
        thrown(IllegalArgumentException.class, () -> recorder.append(columns));
        columns.endNs = LongBuffer.allocate(2); // not direct
        thrown(IllegalArgumentException.class, () -> recorder.append(columns));
        equal(recorder.count(), 0L);
    }

    private static void numbers(Recorder recorder) {
        long epoch = 1_760_000_000_123_456_789L;
        Record record = new Record();
        record.startNs = epoch;
        record.endNs = epoch + 1;
        record.status = 1;
        recorder.append(record);
        Columns columns = new Columns();
        columns.startNs = longs(0, epoch + 1).position(1);
        columns.generationStartNs = longs(epoch + 1);
        columns.endNs = longs(epoch + 4);
        columns.chunkOffsets = longs(0, 2);
        columns.chunkArrivalNs = longs(epoch + 2, epoch + 4);
        columns.chunkTokens = longs(1, 1);
        recorder.append(columns);
        try (Analysis analysis = new Analysis(epoch, epoch + 4, recorder)) {
            Timeweight.Summary summary = analysis.summary("effective_concurrency").orElseThrow();
            equal(summary.avg, 1.0);
            equal(summary.weightNs, OptionalLong.of(4));
            equal(summary.count, OptionalLong.empty());
            equal(analysis.summary("inter_chunk_latency").orElseThrow().count,
                  OptionalLong.of(2));
            equal(analysis.summary("effective_latency").isPresent(), false);
            equal(analysis.report("text").contains("Effective Concurrency (requests)"), true);
            equal(analysis.report("json").contains("\"issued\":2,"), true);
            thrown(IllegalArgumentException.class, () -> analysis.summary("throughput"));
            thrown(Timeweight.Failure.class,
                   () -> analysis.quantiles("effective_concurrency", 1.5));
        }
    }

    public static void main(String[] arguments) throws Exception {
        layout();
        Recorder recorder = new Recorder();
        refusals(recorder);
        numbers(recorder);
        recorder.close();
        recorder.close();
        thrown(IllegalStateException.class, () -> recorder.count());
        System.out.println(Struct.ALL.size() + " structs");
    }
}
