// SPDX-License-Identifier: MIT
package timeweight;

import static java.lang.foreign.SymbolLookup.*;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.Buffer;
import java.nio.charset.StandardCharsets;

/** The library through java.lang.foreign: JDK 22 and later, pointers of 64 bits. Pointers go as
 *  integers of their size, which every 64-bit convention of C passes alike. */
final class ForeignNative implements Native {
    private static final Linker LINKER = Linker.nativeLinker();

    private final SymbolLookup library;
    private final MethodHandle strerror, statusName, ruleName, ruleText, fieldName;
    private final MethodHandle recorderNew, recorderFree, append, appendColumns, count, lastError;
    private final MethodHandle metricCount, metricInfo, metricFind;
    private final MethodHandle analyze, analysisFree, summary, quantiles, report;

    ForeignNative(String name) {
        if (ADDRESS.byteSize() != 8) {
            throw new UnsupportedOperationException("pointers of 64 bits are needed");
        }
        library = libraryLookup(name, Arena.global());
        strerror = bind("tw_strerror", JAVA_LONG, JAVA_INT);
        statusName = bind("tw_status_name", JAVA_LONG, JAVA_INT);
        ruleName = bind("tw_rule_name", JAVA_LONG, JAVA_INT);
        ruleText = bind("tw_rule_text", JAVA_LONG, JAVA_INT);
        fieldName = bind("tw_field_name", JAVA_LONG, JAVA_INT);
        recorderNew = bind("tw_recorder_new", JAVA_INT, JAVA_LONG, JAVA_LONG);
        recorderFree = bind("tw_recorder_free", null, JAVA_LONG);
        append = bind("tw_recorder_append", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG,
                      JAVA_INT, JAVA_LONG);
        appendColumns = bind("tw_recorder_append_columns", JAVA_INT, JAVA_LONG, JAVA_LONG,
                             JAVA_INT, JAVA_LONG);
        count = bind("tw_recorder_count", JAVA_LONG, JAVA_LONG);
        lastError = bind("tw_recorder_last_error", JAVA_INT, JAVA_LONG, JAVA_LONG);
        metricCount = bind("tw_metric_count", JAVA_LONG);
        metricInfo = bind("tw_metric_info", JAVA_INT, JAVA_LONG, JAVA_LONG);
        metricFind = bind("tw_metric_find", JAVA_INT, JAVA_LONG, JAVA_LONG);
        analyze = bind("tw_analyze", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        analysisFree = bind("tw_analysis_free", null, JAVA_LONG);
        summary = bind("tw_analysis_summary", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
        quantiles = bind("tw_analysis_quantiles", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG,
                         JAVA_LONG, JAVA_LONG);
        report = bind("tw_report_write", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, ADDRESS,
                      JAVA_LONG);
    }

    private MethodHandle bind(String name, MemoryLayout result, MemoryLayout... arguments) {
        MemorySegment function = library.find(name).orElseThrow(
            () -> new UnsatisfiedLinkError(name));
        return LINKER.downcallHandle(function, result == null
            ? FunctionDescriptor.ofVoid(arguments) : FunctionDescriptor.of(result, arguments));
    }

    /** What a call threw: the library throws nothing, so it is an error of this class. */
    private static Error broken(Throwable thrown) {
        return thrown instanceof Error ? (Error) thrown : new AssertionError(thrown);
    }

    @Override
    public long address(Buffer direct) {
        return MemorySegment.ofBuffer(direct).address();
    }

    @Override
    public String string(long address) {
        return address == 0 ? null : MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE)
            .getString(0, StandardCharsets.US_ASCII);
    }

    @Override
    public long tw_strerror(int status) {
        try {
            return (long) strerror.invokeExact(status);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public long tw_status_name(int status) {
        try {
            return (long) statusName.invokeExact(status);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public long tw_rule_name(int rule) {
        try {
            return (long) ruleName.invokeExact(rule);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public long tw_rule_text(int rule) {
        try {
            return (long) ruleText.invokeExact(rule);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public long tw_field_name(int field) {
        try {
            return (long) fieldName.invokeExact(field);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_recorder_new(long recorder, long options) {
        try {
            return (int) recorderNew.invokeExact(recorder, options);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public void tw_recorder_free(long recorder) {
        try {
            recorderFree.invokeExact(recorder);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_recorder_append(long recorder, long records, long count, long recordSize,
                                  int flags, long accepted) {
        try {
            return (int) append.invokeExact(recorder, records, count, recordSize, flags, accepted);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_recorder_append_columns(long recorder, long columns, int flags, long accepted) {
        try {
            return (int) appendColumns.invokeExact(recorder, columns, flags, accepted);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public long tw_recorder_count(long recorder) {
        try {
            return (long) count.invokeExact(recorder);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_recorder_last_error(long recorder, long error) {
        try {
            return (int) lastError.invokeExact(recorder, error);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public long tw_metric_count() {
        try {
            return (long) metricCount.invokeExact();
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_metric_info(long index, long row) {
        try {
            return (int) metricInfo.invokeExact(index, row);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_metric_find(long tag, long id) {
        try {
            return (int) metricFind.invokeExact(tag, id);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_analyze(long analysis, long recorders, long count, long options) {
        try {
            return (int) analyze.invokeExact(analysis, recorders, count, options);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public void tw_analysis_free(long analysis) {
        try {
            analysisFree.invokeExact(analysis);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_analysis_summary(long analysis, int metric, long summary) {
        try {
            return (int) this.summary.invokeExact(analysis, metric, summary);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    @Override
    public int tw_analysis_quantiles(long analysis, int metric, long q, long values, long count) {
        try {
            return (int) quantiles.invokeExact(analysis, metric, q, values, count);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    /** tw_write_fn. Nothing may be thrown through the library. */
    private static int write(Writer writer, MemorySegment userData, MemorySegment bytes,
                             long length) {
        try {
            return writer.write(bytes.reinterpret(length).toArray(JAVA_BYTE)) ? 0 : 1;
        } catch (Throwable e) {
            return 1;
        }
    }

    @Override
    public int tw_report_write(long analysis, int format, Writer writer) {
        try (Arena arena = Arena.ofConfined()) {
            MethodHandle target = MethodHandles.lookup().findStatic(ForeignNative.class, "write",
                MethodType.methodType(int.class, Writer.class, MemorySegment.class,
                                      MemorySegment.class, long.class)).bindTo(writer);
            MemorySegment stub = LINKER.upcallStub(target,
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG), arena);
            return (int) report.invokeExact(analysis, format, 0L, stub, 0L);
        } catch (Throwable e) {
            throw broken(e);
        }
    }
}
