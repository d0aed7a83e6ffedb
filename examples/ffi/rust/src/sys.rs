// SPDX-License-Identifier: MIT
//! The interface as C has it. See the headers in `include/timeweight` for what it means.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_void};

pub const TW_TIME_NONE: i64 = i64::MIN;
pub const TW_TOKENS_NONE: i64 = -1;
pub const TW_RULE_LIMIT: usize = 32;

pub const TW_OK: i32 = 0;
pub const TW_ERR_NOMEM: i32 = -1;
pub const TW_ERR_INVAL: i32 = -2;
pub const TW_ERR_RANGE: i32 = -3;
pub const TW_ERR_NODATA: i32 = -4;
pub const TW_ERR_NOTSUP: i32 = -5;
pub const TW_ERR_IO: i32 = -6;
pub const TW_ERR_ABI: i32 = -7;

pub const TW_RECORD_STREAMING: u32 = 1;
pub const TW_APPEND_SKIP_INVALID: u32 = 1;
pub const TW_WINDOW_BEGIN: u32 = 1;
pub const TW_WINDOW_END: u32 = 2;

pub const TW_HAS_MIN: u32 = 2;
pub const TW_HAS_MAX: u32 = 4;
pub const TW_HAS_STD: u32 = 8;
pub const TW_HAS_SUM: u32 = 16;
pub const TW_HAS_WEIGHT: u32 = 32;
pub const TW_HAS_ACTIVE: u32 = 64;
pub const TW_HAS_COUNT: u32 = 128;

/// Declares structs, and writes their layout down for the test below.
macro_rules! structs {
    ($(pub struct $name:ident { $($member:ident: $kind:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name { $(pub $member: $kind,)* }

            impl $name {
                /// All zero: no pointer, number or function.
                pub fn zero() -> Self {
                    // Zero is a value of every member: they are numbers and nullable pointers.
                    unsafe { std::mem::zeroed() }
                }
            }
        )*

        #[cfg(test)]
        fn layout() -> Vec<String> {
            let mut lines = Vec::new();
            $(
                lines.push(format!("{} {}", stringify!($name), std::mem::size_of::<$name>()));
                let value = $name::zero();
                let begin = std::ptr::addr_of!(value) as usize;
                $(
                    lines.push(format!("{}.{} {} {}", stringify!($name), stringify!($member),
                                       std::ptr::addr_of!(value.$member) as usize - begin,
                                       std::mem::size_of::<$kind>()));
                )*
            )*
            lines
        }
    };
}

structs! {
    pub struct tw_error {
        struct_size: u32,
        status: i32,
        rule: i32,
        field: i32,
        row: u64,
        index: u64,
        value_a: i64,
        value_b: i64,
    }
    pub struct tw_record {
        credit_issued_ns: i64,
        start_ns: i64,
        generation_start_ns: i64,
        end_ns: i64,
        input_tokens: i64,
        output_tokens: i64,
        chunk_arrival_ns: *const i64,
        chunk_tokens: *const i64,
        chunk_count: u64,
        status: i32,
        flags: u32,
    }
    pub struct tw_column {
        values: *const c_void,
        validity: *const u8,
        stride: u64,
        flags: u32,
        reserved: u32,
    }
    pub struct tw_columns {
        struct_size: u32,
        flags: u32,
        count: u64,
        credit_issued_ns: tw_column,
        start_ns: tw_column,
        generation_start_ns: tw_column,
        end_ns: tw_column,
        input_tokens: tw_column,
        output_tokens: tw_column,
        status: tw_column,
        record_flags: tw_column,
        chunk_offsets: *const u64,
        chunk_arrival_ns: *const i64,
        chunk_tokens: *const i64,
        chunk_value_count: u64,
    }
    pub struct tw_clock {
        struct_size: u32,
        flags: u32,
        offset_ns: i64,
    }
    pub struct tw_balance {
        struct_size: u32,
        flags: u32,
        issued: u64,
        ok: u64,
        failed: u64,
        cancelled: u64,
        in_flight: u64,
        refused: u64,
        credit_after_start: u64,
        chunk_tokens_ignored: u64,
        refused_by_rule: [u64; TW_RULE_LIMIT],
        overlapping: u64,
        members: u64,
        cut_at_begin: u64,
        cut_at_end: u64,
    }
    pub struct tw_metric_row {
        struct_size: u32,
        id: i32,
        group: i32,
        kind: i32,
        mask: i32,
        better: i32,
        tag: *const c_char,
        header: *const c_char,
        unit: *const c_char,
        description: *const c_char,
    }
    pub struct tw_options {
        struct_size: u32,
        flags: u32,
        window_begin_ns: i64,
        window_end_ns: i64,
        kernel: i32,
        threads: u32,
        executor: *const c_void,
        executor_data: *mut c_void,
        quantiles: *const f64,
        allocator: *const c_void,
        quantile_count: u64,
    }
    pub struct tw_summary {
        struct_size: u32,
        fields: u32,
        flags: u32,
        reserved: u32,
        error_bound: f64,
        avg: f64,
        min: f64,
        max: f64,
        std: f64,
        sum: f64,
        weight_ns: i64,
        active_ns: i64,
        count: u64,
    }
    pub struct tw_segment {
        begin_ns: i64,
        end_ns: i64,
        value: f64,
    }
    pub struct tw_bin {
        begin_ns: i64,
        weight_ns: i64,
        mean: f64,
        min: f64,
        max: f64,
    }
}

#[repr(C)]
pub struct tw_recorder {
    opaque: [u8; 0],
}

#[repr(C)]
pub struct tw_analysis {
    opaque: [u8; 0],
}

pub type tw_write_fn = extern "C" fn(*mut c_void, *const c_char, usize) -> i32;

extern "C" {
    pub fn tw_version_string() -> *const c_char;
    pub fn tw_strerror(status: i32) -> *const c_char;
    pub fn tw_status_name(status: i32) -> *const c_char;
    pub fn tw_rule_name(rule: i32) -> *const c_char;
    pub fn tw_rule_text(rule: i32) -> *const c_char;
    pub fn tw_field_name(field: i32) -> *const c_char;

    pub fn tw_record_init(record: *mut tw_record, record_size: usize);
    pub fn tw_recorder_new(recorder: *mut *mut tw_recorder, options: *const c_void) -> i32;
    pub fn tw_recorder_free(recorder: *mut tw_recorder);
    pub fn tw_recorder_append(
        recorder: *mut tw_recorder,
        records: *const tw_record,
        count: usize,
        record_size: usize,
        flags: u32,
        accepted: *mut usize,
    ) -> i32;
    pub fn tw_recorder_append_columns(
        recorder: *mut tw_recorder,
        columns: *const tw_columns,
        flags: u32,
        accepted: *mut usize,
    ) -> i32;
    pub fn tw_recorder_reserve(recorder: *mut tw_recorder, records: u64) -> i32;
    pub fn tw_recorder_clear(recorder: *mut tw_recorder);
    pub fn tw_recorder_count(recorder: *const tw_recorder) -> u64;
    pub fn tw_recorder_memory(recorder: *const tw_recorder) -> u64;
    pub fn tw_recorder_set_clock(recorder: *mut tw_recorder, clock: *const tw_clock) -> i32;
    pub fn tw_recorder_balance(recorder: *const tw_recorder, balance: *mut tw_balance) -> i32;
    pub fn tw_recorder_last_error(recorder: *const tw_recorder, error: *mut tw_error) -> i32;

    pub fn tw_metric_count() -> usize;
    pub fn tw_metric_info(index: usize, row: *mut tw_metric_row) -> i32;
    pub fn tw_metric_find(tag: *const c_char, id: *mut i32) -> i32;

    pub fn tw_analyze(
        analysis: *mut *mut tw_analysis,
        recorders: *const *mut tw_recorder,
        recorder_count: usize,
        options: *const tw_options,
    ) -> i32;
    pub fn tw_analysis_free(analysis: *mut tw_analysis);
    pub fn tw_analysis_window(
        window: *mut *mut tw_analysis,
        analysis: *const tw_analysis,
        begin_ns: i64,
        end_ns: i64,
    ) -> i32;
    pub fn tw_analysis_bounds(
        analysis: *const tw_analysis,
        begin_ns: *mut i64,
        end_ns: *mut i64,
    ) -> i32;
    pub fn tw_analysis_balance(analysis: *const tw_analysis, balance: *mut tw_balance) -> i32;
    pub fn tw_analysis_summary(
        analysis: *const tw_analysis,
        metric: i32,
        summary: *mut tw_summary,
    ) -> i32;
    pub fn tw_analysis_quantiles(
        analysis: *const tw_analysis,
        metric: i32,
        q: *const f64,
        values: *mut f64,
        count: usize,
    ) -> i32;
    pub fn tw_analysis_curve(
        analysis: *const tw_analysis,
        metric: i32,
        from_ns: i64,
        segments: *mut tw_segment,
        capacity: usize,
        segment_size: usize,
        written: *mut usize,
        next_ns: *mut i64,
    ) -> i32;
    pub fn tw_analysis_series(
        analysis: *const tw_analysis,
        metric: i32,
        begin_ns: i64,
        width_ns: i64,
        bins: *mut tw_bin,
        count: usize,
        bin_size: usize,
    ) -> i32;
    pub fn tw_report_write(
        analysis: *const tw_analysis,
        format: i32,
        options: *const c_void,
        write: tw_write_fn,
        user_data: *mut c_void,
    ) -> i32;
}

#[cfg(test)]
mod tests {
    /// TIMEWEIGHT_LAYOUT names the output of examples/ffi/layout.c.
    #[test]
    fn layout_is_the_compilers() {
        let path = std::env::var("TIMEWEIGHT_LAYOUT").expect("TIMEWEIGHT_LAYOUT is not set");
        let compiled = std::fs::read_to_string(path).unwrap();
        let ours = super::layout();
        for line in &ours {
            assert!(compiled.lines().any(|c| c == line), "not in C: {}", line);
        }
        // And no member is missing from the structs that are declared here.
        for line in compiled.lines() {
            let name = line.split(['.', ' ']).next().unwrap();
            let declared = ours.iter().any(|o| o.starts_with(&format!("{} ", name)));
            assert!(
                !declared || ours.iter().any(|o| o == line),
                "only in C: {}",
                line
            );
        }
    }
}
