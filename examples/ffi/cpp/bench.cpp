/* SPDX-License-Identifier: MIT */

/* See bench.c. */
#include "timeweight.hpp"
#include <algorithm>
#include <chrono>
#include <cstdio>

static const int rows = 1000000;

template <typename Append> static double best(Append append)
{
    double best_ns = 1e300;
    for (int round = 0; round < 10; round++) {
        timeweight::recorder recorder;
        const auto begin = std::chrono::steady_clock::now();
        append(recorder);
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - begin;
        best_ns = std::min(best_ns, took.count());
    }
    return best_ns / rows;
}

int main()
{
    std::vector<int64_t> credit(rows), start(rows), first(rows), end(rows);
    const std::vector<int64_t> input(rows, 200), output(rows, 100);
    for (int i = 0; i < rows; i++) {
        const size_t row = static_cast<size_t>(i);
        credit[row] = i * INT64_C(1000);
        start[row] = credit[row] + 5;
        first[row] = credit[row] + 100;
        end[row] = credit[row] + 5000;
    }
    const double loop = best([](timeweight::recorder &recorder) {
        for (int64_t i = 0; i < rows; i++) {
            tw_record record = timeweight::make_record();
            record.credit_issued_ns = i * 1000;
            record.start_ns = i * 1000 + 5;
            record.generation_start_ns = i * 1000 + 100;
            record.end_ns = i * 1000 + 5000;
            record.input_tokens = 200;
            record.output_tokens = 100;
            recorder.append(record);
        }
    });
    const double columns = best([&](timeweight::recorder &recorder) {
        tw_columns table = timeweight::sized<tw_columns>();
        table.count = rows;
        table.credit_issued_ns.values = credit.data();
        table.start_ns.values = start.data();
        table.generation_start_ns.values = first.data();
        table.end_ns.values = end.data();
        table.input_tokens.values = input.data();
        table.output_tokens.values = output.data();
        recorder.append(table);
    });
    std::printf("cpp %.1f %.1f\n", loop, columns);
    return 0;
}
