// SPDX-License-Identifier: MIT
package timeweight;

import java.nio.Buffer;

/** The functions of the library, with pointers and sizes as long. Two classes provide them:
 *  ForeignNative with java.lang.foreign (JDK 22 and later), JnaNative with JNA. */
interface Native {
    /** Takes a piece of a report; false stops it. */
    interface Writer {
        boolean write(byte[] bytes);
    }

    /** Where a direct buffer lies. */
    long address(Buffer direct);

    /** Text at an address; null for 0. */
    String string(long address);

    long tw_strerror(int status);

    long tw_status_name(int status);

    long tw_rule_name(int rule);

    long tw_rule_text(int rule);

    long tw_field_name(int field);

    int tw_recorder_new(long recorder, long options);

    void tw_recorder_free(long recorder);

    int tw_recorder_append(long recorder, long records, long count, long recordSize, int flags,
                           long accepted);

    int tw_recorder_append_columns(long recorder, long columns, int flags, long accepted);

    long tw_recorder_count(long recorder);

    int tw_recorder_last_error(long recorder, long error);

    long tw_metric_count();

    int tw_metric_info(long index, long row);

    int tw_metric_find(long tag, long id);

    int tw_analyze(long analysis, long recorders, long count, long options);

    void tw_analysis_free(long analysis);

    int tw_analysis_summary(long analysis, int metric, long summary);

    int tw_analysis_quantiles(long analysis, int metric, long q, long values, long count);

    int tw_report_write(long analysis, int format, Writer writer);

    /** The library by its path in TIMEWEIGHT_LIBRARY, or by its name. */
    static Native load() {
        String path = System.getenv("TIMEWEIGHT_LIBRARY");
        String library = path != null ? path
            : System.mapLibraryName("timeweight").endsWith(".dylib") ? "libtimeweight.0.dylib"
            : "libtimeweight.so.0";
        for (String name : new String[] {"timeweight.ForeignNative", "timeweight.JnaNative"}) {
            try {
                return (Native) Class.forName(name).getDeclaredConstructor(String.class)
                    .newInstance(library);
            } catch (ClassNotFoundException missing) {
                continue; // this one was not compiled
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(name + " cannot load " + library, e);
            }
        }
        throw new IllegalStateException("neither ForeignNative nor JnaNative was compiled");
    }
}
