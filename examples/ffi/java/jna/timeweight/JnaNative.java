// SPDX-License-Identifier: MIT
package timeweight;

import com.sun.jna.Callback;
import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.nio.Buffer;

/** The library through JNA's direct mapping: machines with pointers of 64 bits. */
final class JnaNative implements Native {
    /** tw_write_fn. */
    public interface WriteFunction extends Callback {
        int invoke(Pointer userData, Pointer bytes, long length);
    }

    /** JNA binds what is native here by its name. */
    private static final class Direct {
        static native long tw_strerror(int status);

        static native long tw_status_name(int status);

        static native long tw_rule_name(int rule);

        static native long tw_rule_text(int rule);

        static native long tw_field_name(int field);

        static native int tw_recorder_new(long recorder, long options);

        static native void tw_recorder_free(long recorder);

        static native int tw_recorder_append(long recorder, long records, long count,
                                             long recordSize, int flags, long accepted);

        static native int tw_recorder_append_columns(long recorder, long columns, int flags,
                                                     long accepted);

        static native long tw_recorder_count(long recorder);

        static native int tw_recorder_last_error(long recorder, long error);

        static native long tw_metric_count();

        static native int tw_metric_info(long index, long row);

        static native int tw_metric_find(long tag, long id);

        static native int tw_analyze(long analysis, long recorders, long count, long options);

        static native void tw_analysis_free(long analysis);

        static native int tw_analysis_summary(long analysis, int metric, long summary);

        static native int tw_analysis_quantiles(long analysis, int metric, long q, long values,
                                                long count);
    }

    private final Function report;

    JnaNative(String name) {
        if (com.sun.jna.Native.POINTER_SIZE != 8) {
            throw new UnsupportedOperationException("pointers of 64 bits are needed");
        }
        NativeLibrary library = NativeLibrary.getInstance(name);
        com.sun.jna.Native.register(Direct.class, library);
        report = library.getFunction("tw_report_write");
    }

    @Override
    public long address(Buffer direct) {
        return Pointer.nativeValue(com.sun.jna.Native.getDirectBufferPointer(direct));
    }

    @Override
    public String string(long address) {
        return address == 0 ? null : new Pointer(address).getString(0, "US-ASCII");
    }

    @Override
    public long tw_strerror(int status) {
        return Direct.tw_strerror(status);
    }

    @Override
    public long tw_status_name(int status) {
        return Direct.tw_status_name(status);
    }

    @Override
    public long tw_rule_name(int rule) {
        return Direct.tw_rule_name(rule);
    }

    @Override
    public long tw_rule_text(int rule) {
        return Direct.tw_rule_text(rule);
    }

    @Override
    public long tw_field_name(int field) {
        return Direct.tw_field_name(field);
    }

    @Override
    public int tw_recorder_new(long recorder, long options) {
        return Direct.tw_recorder_new(recorder, options);
    }

    @Override
    public void tw_recorder_free(long recorder) {
        Direct.tw_recorder_free(recorder);
    }

    @Override
    public int tw_recorder_append(long recorder, long records, long count, long recordSize,
                                  int flags, long accepted) {
        return Direct.tw_recorder_append(recorder, records, count, recordSize, flags, accepted);
    }

    @Override
    public int tw_recorder_append_columns(long recorder, long columns, int flags, long accepted) {
        return Direct.tw_recorder_append_columns(recorder, columns, flags, accepted);
    }

    @Override
    public long tw_recorder_count(long recorder) {
        return Direct.tw_recorder_count(recorder);
    }

    @Override
    public int tw_recorder_last_error(long recorder, long error) {
        return Direct.tw_recorder_last_error(recorder, error);
    }

    @Override
    public long tw_metric_count() {
        return Direct.tw_metric_count();
    }

    @Override
    public int tw_metric_info(long index, long row) {
        return Direct.tw_metric_info(index, row);
    }

    @Override
    public int tw_metric_find(long tag, long id) {
        return Direct.tw_metric_find(tag, id);
    }

    @Override
    public int tw_analyze(long analysis, long recorders, long count, long options) {
        return Direct.tw_analyze(analysis, recorders, count, options);
    }

    @Override
    public void tw_analysis_free(long analysis) {
        Direct.tw_analysis_free(analysis);
    }

    @Override
    public int tw_analysis_summary(long analysis, int metric, long summary) {
        return Direct.tw_analysis_summary(analysis, metric, summary);
    }

    @Override
    public int tw_analysis_quantiles(long analysis, int metric, long q, long values, long count) {
        return Direct.tw_analysis_quantiles(analysis, metric, q, values, count);
    }

    @Override
    public int tw_report_write(long analysis, int format, Writer writer) {
        WriteFunction write = (userData, bytes, length) -> {
            try { // nothing may be thrown through the library
                return writer.write(bytes.getByteArray(0, (int) length)) ? 0 : 1;
            } catch (Throwable e) {
                return 1;
            }
        };
        return report.invokeInt(
            new Object[] {new Pointer(analysis), format, Pointer.NULL, write, Pointer.NULL});
    }
}
