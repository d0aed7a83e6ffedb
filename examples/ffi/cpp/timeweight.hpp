/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_HPP
#define TIMEWEIGHT_HPP

/* libtimeweight for C++11 and later: this header and nothing else. Handles are released by
 * their destructors, and what fails throws; the structs are those of C. */
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <timeweight/timeweight.h>
#include <vector>

namespace timeweight
{

/* A struct that begins with its own size, and is zero otherwise. */
template <typename Struct> Struct sized()
{
    Struct value = Struct();
    value.struct_size = sizeof value;
    return value;
}

/* A call failed. detail() says more if a record was refused: its rule is not 0 then. */
class error : public std::runtime_error
{
  public:
    explicit error(int32_t status)
        : std::runtime_error(tw_strerror(status)), detail_(sized<tw_error>())
    {
        detail_.status = status;
    }

    explicit error(const tw_error &detail)
        : std::runtime_error(describe(detail)), detail_(detail)
    {
    }

    int32_t status() const noexcept
    {
        return detail_.status;
    }
    const tw_error &detail() const noexcept
    {
        return detail_;
    }

  private:
    static std::string describe(const tw_error &detail)
    {
        const char *field = tw_field_name(detail.field);
        if (tw_rule_name(detail.rule) == nullptr) {
            return tw_strerror(detail.status);
        }
        return "row " + std::to_string(detail.row) + ": " + (field ? field : "record") +
               " " + tw_rule_text(detail.rule) + " [" + tw_rule_name(detail.rule) + "]";
    }

    tw_error detail_;
};

inline void check(int32_t status)
{
    if (status != TW_OK) {
        throw error(status);
    }
}

/* A record with every field "not recorded". */
inline tw_record make_record() noexcept
{
    tw_record record;
    tw_record_init(&record, sizeof record);
    return record;
}

/* Keeps one record per request. One thread at a time writes to a recorder. */
class recorder
{
  public:
    recorder()
    {
        tw_recorder *made = nullptr;
        check(tw_recorder_new(&made, nullptr));
        handle_.reset(made);
    }

    tw_recorder *get() const noexcept
    {
        return handle_.get();
    }

    /* Throws error with a detail() if a record is refused; nothing is stored then. */
    void append(const tw_record &record)
    {
        append(&record, 1);
    }

    size_t append(const tw_record *records, size_t count, uint32_t flags = 0)
    {
        size_t accepted = 0;
        check_append(
            tw_recorder_append(get(), records, count, sizeof *records, flags, &accepted));
        return accepted;
    }

    size_t append(const tw_columns &columns, uint32_t flags = 0)
    {
        size_t accepted = 0;
        check_append(tw_recorder_append_columns(get(), &columns, flags, &accepted));
        return accepted;
    }

    void reserve(uint64_t records)
    {
        check(tw_recorder_reserve(get(), records));
    }
    void clear() noexcept
    {
        tw_recorder_clear(get());
    }
    uint64_t count() const noexcept
    {
        return tw_recorder_count(get());
    }

    void set_clock(int64_t offset_ns)
    {
        tw_clock clock = sized<tw_clock>();
        clock.offset_ns = offset_ns;
        check(tw_recorder_set_clock(get(), &clock));
    }

    tw_balance balance() const
    {
        tw_balance balance = sized<tw_balance>();
        check(tw_recorder_balance(get(), &balance));
        return balance;
    }

  private:
    void check_append(int32_t status) const
    {
        if (status != TW_OK) {
            tw_error detail = sized<tw_error>();
            check(tw_recorder_last_error(get(), &detail));
            if (detail.status != status) {
                throw error(status);
            }
            throw error(detail);
        }
    }

    struct release {
        void operator()(tw_recorder *handle) const noexcept
        {
            tw_recorder_free(handle);
        }
    };
    std::unique_ptr<tw_recorder, release> handle_;
};

/* The registry, in the order of a report. */
inline std::vector<tw_metric_row> metrics()
{
    std::vector<tw_metric_row> rows(tw_metric_count(), sized<tw_metric_row>());
    for (size_t i = 0; i < rows.size(); i++) {
        check(tw_metric_info(i, &rows[i]));
    }
    return rows;
}

/* An immutable result; any thread may ask it. What was not measured in the run comes as
 * false, or empty. */
class analysis
{
  public:
    explicit analysis(const recorder &of, const tw_options *options = nullptr)
        : analysis(std::vector<tw_recorder *>(1, of.get()), options)
    {
    }

    explicit analysis(const std::vector<tw_recorder *> &of,
                      const tw_options *options = nullptr)
    {
        tw_analysis *made = nullptr;
        check(tw_analyze(&made, of.data(), of.size(), options));
        handle_.reset(made);
    }

    const tw_analysis *get() const noexcept
    {
        return handle_.get();
    }

    bool summary(int32_t metric, tw_summary &result) const
    {
        result = sized<tw_summary>();
        return emitted(tw_analysis_summary(get(), metric, &result));
    }

    std::vector<double> quantiles(int32_t metric, const std::vector<double> &q) const
    {
        std::vector<double> values(q.size());
        if (!emitted(tw_analysis_quantiles(get(), metric, q.data(), values.data(),
                                           q.size()))) {
            values.clear();
        }
        return values;
    }

    /* The metric's curve, piece by piece. */
    std::vector<tw_segment> curve(int32_t metric) const
    {
        std::vector<tw_segment> segments;
        int64_t from_ns = 0, end_ns = 0;
        check(tw_analysis_bounds(get(), &from_ns, &end_ns));
        do {
            const size_t page = 4096, have = segments.size();
            size_t written = 0;
            segments.resize(have + page);
            if (!emitted(tw_analysis_curve(get(), metric, from_ns, &segments[have], page,
                                           sizeof(tw_segment), &written, &from_ns))) {
                written = 0;
                from_ns = end_ns;
            }
            segments.resize(have + written);
        } while (from_ns != end_ns);
        return segments;
    }

    std::vector<tw_bin> series(int32_t metric, int64_t begin_ns, int64_t width_ns,
                               size_t count) const
    {
        std::vector<tw_bin> bins(count);
        if (!emitted(tw_analysis_series(get(), metric, begin_ns, width_ns, bins.data(),
                                        count, sizeof(tw_bin)))) {
            bins.clear();
        }
        return bins;
    }

    analysis window(int64_t begin_ns, int64_t end_ns) const
    {
        tw_analysis *made = nullptr;
        check(tw_analysis_window(&made, get(), begin_ns, end_ns));
        return analysis(made);
    }

    tw_balance balance() const
    {
        tw_balance balance = sized<tw_balance>();
        check(tw_analysis_balance(get(), &balance));
        return balance;
    }

    /* format: enum tw_format. */
    std::string report(int32_t format) const
    {
        std::string text;
        check(tw_report_write(get(), format, nullptr, write, &text));
        return text;
    }

  private:
    explicit analysis(tw_analysis *made) : handle_(made)
    {
    }

    static bool emitted(int32_t status)
    {
        if (status != TW_ERR_NODATA) {
            check(status);
        }
        return status == TW_OK;
    }

    /* Nothing may be thrown through the library. */
    static int32_t write(void *text, const char *bytes, size_t length) noexcept
    {
        try {
            static_cast<std::string *>(text)->append(bytes, length);
            return 0;
        } catch (...) {
            return 1;
        }
    }

    struct release {
        void operator()(tw_analysis *handle) const noexcept
        {
            tw_analysis_free(handle);
        }
    };
    std::unique_ptr<tw_analysis, release> handle_;
};

} // namespace timeweight

#endif
