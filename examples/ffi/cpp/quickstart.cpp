/* SPDX-License-Identifier: MIT */

/* examples/quickstart.c in C++: prints the same to the last digit. */
#include "timeweight.hpp"
#include <cstdio>
#include <exception>

static const int64_t ms = 1000000; /* ns */
static const int half = 20;        /* of the 40 requests */

static int64_t due_ns(int i)
{
    return i / 4 * 2100 * ms + i % 4 * ms;
}

static int64_t decode_ns(int i)
{
    return (1600 + 9 * i) * ms;
}

/* The first half of the run: each request is appended when it has ended. */
static void append_in_a_loop(timeweight::recorder &recorder)
{
    for (int i = 0; i < half; i++) {
        tw_record record = timeweight::make_record();
        record.credit_issued_ns = due_ns(i);
        record.start_ns = record.credit_issued_ns + 5 * ms;
        record.generation_start_ns = record.start_ns + 100 * ms;
        record.end_ns = record.generation_start_ns + decode_ns(i);
        record.input_tokens = 200;
        record.output_tokens = 100;
        recorder.append(record);
    }
}

/* The second half: the requests lie in columns, and one call takes them all. */
static void append_columns(timeweight::recorder &recorder)
{
    std::vector<int64_t> due, start, first, end, input(half, 200), output(half, 100);
    for (int i = half; i < 2 * half; i++) {
        due.push_back(due_ns(i));
        start.push_back(due.back() + 5 * ms);
        first.push_back(start.back() + 100 * ms);
        end.push_back(first.back() + decode_ns(i));
    }
    tw_columns columns = timeweight::sized<tw_columns>();
    columns.count = due.size();
    columns.credit_issued_ns.values = due.data();
    columns.start_ns.values = start.data();
    columns.generation_start_ns.values = first.data();
    columns.end_ns.values = end.data();
    columns.input_tokens.values = input.data();
    columns.output_tokens.values = output.data();
    recorder.append(columns);
}

/* A row that cannot be: nothing of the call is stored, and the error says why. */
static void append_nonsense(timeweight::recorder &recorder)
{
    const int64_t start[] = {0, 500 * ms}, end[] = {100 * ms, 400 * ms};
    tw_columns columns = timeweight::sized<tw_columns>();
    columns.count = 2;
    columns.start_ns.values = start;
    columns.end_ns.values = end;
    try {
        recorder.append(columns);
    } catch (const timeweight::error &error) {
        if (error.status() != TW_ERR_RANGE) {
            throw;
        }
        std::printf("refused: %s\n", error.what());
    }
}

int main()
try {
    timeweight::recorder recorder;
    append_in_a_loop(recorder);
    append_columns(recorder);
    append_nonsense(recorder);

    timeweight::analysis analysis(recorder);
    for (const tw_metric_row &metric : timeweight::metrics()) {
        tw_summary summary;
        if (analysis.summary(metric.id, summary)) {
            std::printf("%s %.17g %s\n", metric.tag, summary.avg, metric.unit);
        }
    }
    const std::vector<double> latency = analysis.quantiles(TW_EFFECTIVE_LATENCY,
                                                           {0.5, 0.99});
    std::printf("effective latency: p50 %.17g ms, p99 %.17g ms\n", latency.at(0),
                latency.at(1));
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "quickstart: %s\n", error.what());
    return 1;
}
