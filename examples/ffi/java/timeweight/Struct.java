// SPDX-License-Identifier: MIT
package timeweight;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A struct of C: where its members lie. Members are named "TYPE NAME" in their order. */
final class Struct {
    static final Map<String, Struct> ALL = new LinkedHashMap<>();

    static final Struct ERROR = new Struct("tw_error",
        "int struct_size", "int status", "int rule", "int field", "long row", "long index",
        "long value_a", "long value_b");
    static final Struct RECORD = new Struct("tw_record",
        "long credit_issued_ns", "long start_ns", "long generation_start_ns", "long end_ns",
        "long input_tokens", "long output_tokens", "pointer chunk_arrival_ns",
        "pointer chunk_tokens", "long chunk_count", "int status", "int flags");
    static final Struct COLUMN = new Struct("tw_column",
        "pointer values", "pointer validity", "long stride", "int flags", "int reserved");
    static final Struct COLUMNS = new Struct("tw_columns",
        "int struct_size", "int flags", "long count", "tw_column credit_issued_ns",
        "tw_column start_ns", "tw_column generation_start_ns", "tw_column end_ns",
        "tw_column input_tokens", "tw_column output_tokens", "tw_column status",
        "tw_column record_flags", "pointer chunk_offsets", "pointer chunk_arrival_ns",
        "pointer chunk_tokens", "long chunk_value_count");
    static final Struct METRIC_ROW = new Struct("tw_metric_row",
        "int struct_size", "int id", "int group", "int kind", "int mask", "int better",
        "pointer tag", "pointer header", "pointer unit", "pointer description");
    static final Struct OPTIONS = new Struct("tw_options",
        "int struct_size", "int flags", "long window_begin_ns", "long window_end_ns",
        "int kernel", "int threads", "pointer executor", "pointer executor_data",
        "pointer quantiles", "pointer allocator", "long quantile_count");
    static final Struct SUMMARY = new Struct("tw_summary",
        "int struct_size", "int fields", "int flags", "int reserved", "double error_bound",
        "double avg", "double min", "double max", "double std", "double sum", "long weight_ns",
        "long active_ns", "long count");

    final String name;
    final int size;
    private final Map<String, int[]> members = new LinkedHashMap<>(); // offset, size

    private Struct(String name, String... members) {
        this.name = name;
        int end = 0;
        for (String member : members) {
            String[] words = member.split(" ");
            Struct inner = ALL.get(words[0]);
            int width = inner != null ? inner.size : words[0].equals("int") ? 4 : 8;
            int align = Math.min(width, 8);
            int offset = (end + align - 1) / align * align;
            this.members.put(words[1], new int[] {offset, width});
            end = offset + width;
        }
        size = (end + 7) / 8 * 8;
        ALL.put(name, this);
    }

    int offset(String member) {
        return members.get(member)[0];
    }

    /** A struct of zeros, with its struct_size where it has one. */
    ByteBuffer make() {
        ByteBuffer struct = direct(size);
        if (members.containsKey("struct_size")) {
            struct.putInt(0, size);
        }
        return struct;
    }

    static ByteBuffer direct(int size) {
        return ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
    }

    /** As examples/ffi/layout.c prints it. */
    List<String> layout() {
        List<String> lines = new ArrayList<>();
        lines.add(name + " " + size);
        members.forEach((member, place) ->
            lines.add(name + "." + member + " " + place[0] + " " + place[1]));
        return lines;
    }
}
