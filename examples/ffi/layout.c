/* SPDX-License-Identifier: MIT */

/* Prints how the compiler lays out every public struct, for bindings that write the layout
 * down once more: 'STRUCT SIZE', then for each member 'STRUCT.MEMBER OFFSET SIZE'. */
#include <stddef.h>
#include <stdio.h>
#include <timeweight/timeweight.h>

#define STRUCT(type) printf("%s %zu\n", #type, sizeof(type))
#define MEMBER(type, name)                                        \
    printf("%s.%s %zu %zu\n", #type, #name, offsetof(type, name), \
           sizeof(((type *)NULL)->name))

int main(void)
{
    STRUCT(tw_error);
    MEMBER(tw_error, struct_size);
    MEMBER(tw_error, status);
    MEMBER(tw_error, rule);
    MEMBER(tw_error, field);
    MEMBER(tw_error, row);
    MEMBER(tw_error, index);
    MEMBER(tw_error, value_a);
    MEMBER(tw_error, value_b);

    STRUCT(tw_allocator);
    MEMBER(tw_allocator, struct_size);
    MEMBER(tw_allocator, flags);
    MEMBER(tw_allocator, user_data);
    MEMBER(tw_allocator, alloc);
    MEMBER(tw_allocator, free);

    STRUCT(tw_record);
    MEMBER(tw_record, credit_issued_ns);
    MEMBER(tw_record, start_ns);
    MEMBER(tw_record, generation_start_ns);
    MEMBER(tw_record, end_ns);
    MEMBER(tw_record, input_tokens);
    MEMBER(tw_record, output_tokens);
    MEMBER(tw_record, chunk_arrival_ns);
    MEMBER(tw_record, chunk_tokens);
    MEMBER(tw_record, chunk_count);
    MEMBER(tw_record, status);
    MEMBER(tw_record, flags);

    STRUCT(tw_recorder_options);
    MEMBER(tw_recorder_options, struct_size);
    MEMBER(tw_recorder_options, flags);
    MEMBER(tw_recorder_options, allocator);

    STRUCT(tw_column);
    MEMBER(tw_column, values);
    MEMBER(tw_column, validity);
    MEMBER(tw_column, stride);
    MEMBER(tw_column, flags);
    MEMBER(tw_column, reserved);

    STRUCT(tw_columns);
    MEMBER(tw_columns, struct_size);
    MEMBER(tw_columns, flags);
    MEMBER(tw_columns, count);
    MEMBER(tw_columns, credit_issued_ns);
    MEMBER(tw_columns, start_ns);
    MEMBER(tw_columns, generation_start_ns);
    MEMBER(tw_columns, end_ns);
    MEMBER(tw_columns, input_tokens);
    MEMBER(tw_columns, output_tokens);
    MEMBER(tw_columns, status);
    MEMBER(tw_columns, record_flags);
    MEMBER(tw_columns, chunk_offsets);
    MEMBER(tw_columns, chunk_arrival_ns);
    MEMBER(tw_columns, chunk_tokens);
    MEMBER(tw_columns, chunk_value_count);

    STRUCT(tw_clock);
    MEMBER(tw_clock, struct_size);
    MEMBER(tw_clock, flags);
    MEMBER(tw_clock, offset_ns);

    STRUCT(tw_balance);
    MEMBER(tw_balance, struct_size);
    MEMBER(tw_balance, flags);
    MEMBER(tw_balance, issued);
    MEMBER(tw_balance, ok);
    MEMBER(tw_balance, failed);
    MEMBER(tw_balance, cancelled);
    MEMBER(tw_balance, in_flight);
    MEMBER(tw_balance, refused);
    MEMBER(tw_balance, credit_after_start);
    MEMBER(tw_balance, chunk_tokens_ignored);
    MEMBER(tw_balance, refused_by_rule);
    MEMBER(tw_balance, overlapping);
    MEMBER(tw_balance, members);
    MEMBER(tw_balance, cut_at_begin);
    MEMBER(tw_balance, cut_at_end);

    STRUCT(tw_metric_row);
    MEMBER(tw_metric_row, struct_size);
    MEMBER(tw_metric_row, id);
    MEMBER(tw_metric_row, group);
    MEMBER(tw_metric_row, kind);
    MEMBER(tw_metric_row, mask);
    MEMBER(tw_metric_row, better);
    MEMBER(tw_metric_row, tag);
    MEMBER(tw_metric_row, header);
    MEMBER(tw_metric_row, unit);
    MEMBER(tw_metric_row, description);

    STRUCT(tw_options);
    MEMBER(tw_options, struct_size);
    MEMBER(tw_options, flags);
    MEMBER(tw_options, window_begin_ns);
    MEMBER(tw_options, window_end_ns);
    MEMBER(tw_options, kernel);
    MEMBER(tw_options, threads);
    MEMBER(tw_options, executor);
    MEMBER(tw_options, executor_data);
    MEMBER(tw_options, quantiles);
    MEMBER(tw_options, allocator);
    MEMBER(tw_options, quantile_count);

    STRUCT(tw_summary);
    MEMBER(tw_summary, struct_size);
    MEMBER(tw_summary, fields);
    MEMBER(tw_summary, flags);
    MEMBER(tw_summary, reserved);
    MEMBER(tw_summary, error_bound);
    MEMBER(tw_summary, avg);
    MEMBER(tw_summary, min);
    MEMBER(tw_summary, max);
    MEMBER(tw_summary, std);
    MEMBER(tw_summary, sum);
    MEMBER(tw_summary, weight_ns);
    MEMBER(tw_summary, active_ns);
    MEMBER(tw_summary, count);

    STRUCT(tw_segment);
    MEMBER(tw_segment, begin_ns);
    MEMBER(tw_segment, end_ns);
    MEMBER(tw_segment, value);

    STRUCT(tw_bin);
    MEMBER(tw_bin, begin_ns);
    MEMBER(tw_bin, weight_ns);
    MEMBER(tw_bin, mean);
    MEMBER(tw_bin, min);
    MEMBER(tw_bin, max);

    typedef struct ArrowSchema ArrowSchema;
    STRUCT(ArrowSchema);
    MEMBER(ArrowSchema, format);
    MEMBER(ArrowSchema, name);
    MEMBER(ArrowSchema, metadata);
    MEMBER(ArrowSchema, flags);
    MEMBER(ArrowSchema, n_children);
    MEMBER(ArrowSchema, children);
    MEMBER(ArrowSchema, dictionary);
    MEMBER(ArrowSchema, release);
    MEMBER(ArrowSchema, private_data);

    typedef struct ArrowArray ArrowArray;
    STRUCT(ArrowArray);
    MEMBER(ArrowArray, length);
    MEMBER(ArrowArray, null_count);
    MEMBER(ArrowArray, offset);
    MEMBER(ArrowArray, n_buffers);
    MEMBER(ArrowArray, n_children);
    MEMBER(ArrowArray, buffers);
    MEMBER(ArrowArray, children);
    MEMBER(ArrowArray, dictionary);
    MEMBER(ArrowArray, release);
    MEMBER(ArrowArray, private_data);

    typedef struct ArrowArrayStream ArrowArrayStream;
    STRUCT(ArrowArrayStream);
    MEMBER(ArrowArrayStream, get_schema);
    MEMBER(ArrowArrayStream, get_next);
    MEMBER(ArrowArrayStream, get_last_error);
    MEMBER(ArrowArrayStream, release);
    MEMBER(ArrowArrayStream, private_data);

    STRUCT(tw_report_options);
    MEMBER(tw_report_options, struct_size);
    MEMBER(tw_report_options, flags);
    MEMBER(tw_report_options, counter_names);
    MEMBER(tw_report_options, counter_values);
    MEMBER(tw_report_options, counter_count);
    return 0;
}
