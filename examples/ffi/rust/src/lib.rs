// SPDX-License-Identifier: MIT
//! libtimeweight for Rust: exact time-weighted metrics of load tests.
//!
//! ```
//! # use timeweight::{metric, Record, Recorder};
//! let mut recorder = Recorder::new()?;
//! recorder.append(&Record {
//!     generation_start_ns: Some(100),
//!     end_ns: Some(900),
//!     output_tokens: Some(9),
//!     ..Record::new(0)
//! })?;
//! let analysis = recorder.analyze()?;
//! let summary = analysis.summary(metric::EFFECTIVE_CONCURRENCY)?.unwrap();
//! assert_eq!(summary.avg, 1.0);
//! # Ok::<(), timeweight::Error>(())
//! ```
//!
//! Times are integers in ns of one monotonic clock. Handles are released when they are dropped.

use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut, NonNull};

pub mod metric;
pub mod sys;

pub use metric::{metrics, Metric, MetricId};

/// One piece of a curve: `value` from `begin_ns` up to `end_ns`.
pub type Segment = sys::tw_segment;
/// A curve over one bin of time.
pub type Bin = sys::tw_bin;

pub type Result<T> = std::result::Result<T, Error>;

/// Text of the library's, which is ASCII and static; `None` for NULL.
fn text(pointer: *const c_char) -> Option<&'static str> {
    if pointer.is_null() {
        return None;
    }
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

// ---------------------------------------------------------------- errors

/// Why a record was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which rule it breaks, such as "end_before_start".
    pub rule: &'static str,
    /// What the rule asks for, to be read after the field.
    pub text: &'static str,
    /// The field at fault.
    pub field: &'static str,
    /// Its row in the call that failed.
    pub row: u64,
    /// Of chunks: which of the record's.
    pub index: u64,
    /// The field's value.
    pub value_a: i64,
    /// What it was compared with.
    pub value_b: i64,
}

/// A call failed: the library's status, and why a record was refused if that was it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: i32,
    pub refusal: Option<Refusal>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.refusal {
            Some(r) => write!(f, "row {}: {} {} [{}]", r.row, r.field, r.text, r.rule),
            None => f.write_str(text(unsafe { sys::tw_strerror(self.status) }).unwrap_or("")),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    fn new(status: i32) -> Error {
        Error {
            status,
            refusal: None,
        }
    }

    /// The constant's name, such as "TW_ERR_RANGE".
    pub fn name(&self) -> &'static str {
        text(unsafe { sys::tw_status_name(self.status) }).unwrap_or("")
    }
}

fn check(status: i32) -> Result<()> {
    match status {
        sys::TW_OK => Ok(()),
        _ => Err(Error::new(status)),
    }
}

/// "Not measured in this run" is an answer: `None`.
fn emitted<T>(status: i32, value: T) -> Result<Option<T>> {
    match status {
        sys::TW_ERR_NODATA => Ok(None),
        _ => check(status).map(|()| Some(value)),
    }
}

/// The version of the library that runs, such as "0.1.0".
pub fn version() -> &'static str {
    text(unsafe { sys::tw_version_string() }).unwrap_or("")
}

// ---------------------------------------------------------------- records

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Well, or it is still in flight.
    Ok = 0,
    Failed = 1,
    Cancelled = 2,
}

/// What is known about one request; `None` is "not recorded".
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// When it was due.
    pub credit_issued_ns: Option<i64>,
    /// When it was handed to the transport.
    pub start_ns: i64,
    /// When its first token arrived.
    pub generation_start_ns: Option<i64>,
    /// When it ended; `None`: it is in flight.
    pub end_ns: Option<i64>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub status: Status,
    /// The response was to stream, even if no token came.
    pub streaming: bool,
    /// Arrivals of the content chunks after the first token.
    pub chunk_arrival_ns: &'a [i64],
    /// How many tokens each of them brought: empty, or as many.
    pub chunk_tokens: &'a [i64],
}

impl Record<'_> {
    /// A request of which the start is known.
    pub fn new(start_ns: i64) -> Self {
        Record {
            credit_issued_ns: None,
            start_ns,
            generation_start_ns: None,
            end_ns: None,
            input_tokens: None,
            output_tokens: None,
            status: Status::Ok,
            streaming: false,
            chunk_arrival_ns: &[],
            chunk_tokens: &[],
        }
    }

    fn to_c(&self) -> Result<sys::tw_record> {
        if !self.chunk_tokens.is_empty() && self.chunk_tokens.len() != self.chunk_arrival_ns.len() {
            return Err(Error::new(sys::TW_ERR_INVAL));
        }
        Ok(sys::tw_record {
            credit_issued_ns: self.credit_issued_ns.unwrap_or(sys::TW_TIME_NONE),
            start_ns: self.start_ns,
            generation_start_ns: self.generation_start_ns.unwrap_or(sys::TW_TIME_NONE),
            end_ns: self.end_ns.unwrap_or(sys::TW_TIME_NONE),
            input_tokens: self.input_tokens.unwrap_or(sys::TW_TOKENS_NONE),
            output_tokens: self.output_tokens.unwrap_or(sys::TW_TOKENS_NONE),
            chunk_arrival_ns: self.chunk_arrival_ns.as_ptr(),
            chunk_tokens: pointer_or_null(self.chunk_tokens),
            chunk_count: self.chunk_arrival_ns.len() as u64,
            status: self.status as i32,
            flags: if self.streaming {
                sys::TW_RECORD_STREAMING
            } else {
                0
            },
        })
    }
}

fn pointer_or_null<T>(values: &[T]) -> *const T {
    if values.is_empty() {
        null()
    } else {
        values.as_ptr()
    }
}

/// One field of many records; by default not recorded in any row.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a, T> {
    values: Option<&'a [T]>,
    validity: Option<&'a [bool]>,
}

impl<T> Default for Column<'_, T> {
    fn default() -> Self {
        Column {
            values: None,
            validity: None,
        }
    }
}

impl<'a, T> From<&'a [T]> for Column<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Column {
            values: Some(values),
            validity: None,
        }
    }
}

impl<'a, T> From<&'a Vec<T>> for Column<'a, T> {
    fn from(values: &'a Vec<T>) -> Self {
        values.as_slice().into()
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Column<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        values.as_slice().into()
    }
}

impl<'a, T> Column<'a, T> {
    /// Values with a mark per row; `false`: not recorded there.
    pub fn with_validity(values: &'a [T], validity: &'a [bool]) -> Self {
        Column {
            values: Some(values),
            validity: Some(validity),
        }
    }

    fn to_c(&self, count: usize) -> Result<sys::tw_column> {
        let mut column = sys::tw_column::zero();
        if let Some(values) = self.values {
            column.values = values.as_ptr().cast();
            if values.len() != count {
                return Err(Error::new(sys::TW_ERR_INVAL));
            }
        }
        if let Some(validity) = self.validity {
            column.validity = validity.as_ptr().cast();
            if validity.len() != count {
                return Err(Error::new(sys::TW_ERR_INVAL));
            }
        }
        Ok(column)
    }
}

/// Many records by field: columns of one length. Arrays are read where they lie.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns<'a> {
    pub credit_issued_ns: Column<'a, i64>,
    pub start_ns: Column<'a, i64>,
    pub generation_start_ns: Column<'a, i64>,
    pub end_ns: Column<'a, i64>,
    pub input_tokens: Column<'a, i64>,
    pub output_tokens: Column<'a, i64>,
    /// As [`Status`]: 0 ok, 1 failed, 2 cancelled.
    pub status: Column<'a, i32>,
    /// 1: the response was to stream.
    pub record_flags: Column<'a, u32>,
    /// Row i has the chunks from `chunk_offsets[i]` up to `chunk_offsets[i + 1]`: one more than
    /// there are rows, or empty.
    pub chunk_offsets: &'a [u64],
    pub chunk_arrival_ns: &'a [i64],
    /// Empty, or as many as `chunk_arrival_ns`.
    pub chunk_tokens: &'a [i64],
}

impl Columns<'_> {
    fn to_c(self) -> Result<sys::tw_columns> {
        let count = self.start_ns.values.map_or(0, |values| values.len());
        let offsets = self.chunk_offsets.len();
        let tokens = self.chunk_tokens.len();
        if (offsets != 0 && offsets != count + 1)
            || (tokens != 0 && tokens != self.chunk_arrival_ns.len())
        {
            return Err(Error::new(sys::TW_ERR_INVAL));
        }
        Ok(sys::tw_columns {
            struct_size: size_of::<sys::tw_columns>() as u32,
            flags: 0,
            count: count as u64,
            credit_issued_ns: self.credit_issued_ns.to_c(count)?,
            start_ns: self.start_ns.to_c(count)?,
            generation_start_ns: self.generation_start_ns.to_c(count)?,
            end_ns: self.end_ns.to_c(count)?,
            input_tokens: self.input_tokens.to_c(count)?,
            output_tokens: self.output_tokens.to_c(count)?,
            status: self.status.to_c(count)?,
            record_flags: self.record_flags.to_c(count)?,
            chunk_offsets: pointer_or_null(self.chunk_offsets),
            chunk_arrival_ns: pointer_or_null(self.chunk_arrival_ns),
            chunk_tokens: pointer_or_null(self.chunk_tokens),
            chunk_value_count: self.chunk_arrival_ns.len() as u64,
        })
    }
}

// ---------------------------------------------------------------- recorder

/// Where every record went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    pub issued: u64,
    pub ok: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub in_flight: u64,
    pub refused: u64,
    pub credit_after_start: u64,
    pub chunk_tokens_ignored: u64,
    /// The rules that were broken, and how often.
    pub refused_by_rule: Vec<(&'static str, u64)>,
    pub overlapping: u64,
    pub members: u64,
    pub cut_at_begin: u64,
    pub cut_at_end: u64,
}

impl From<sys::tw_balance> for Balance {
    fn from(b: sys::tw_balance) -> Self {
        let named = |(rule, &count): (usize, &u64)| {
            text(unsafe { sys::tw_rule_name(rule as i32) }).map(|name| (name, count))
        };
        Balance {
            issued: b.issued,
            ok: b.ok,
            failed: b.failed,
            cancelled: b.cancelled,
            in_flight: b.in_flight,
            refused: b.refused,
            credit_after_start: b.credit_after_start,
            chunk_tokens_ignored: b.chunk_tokens_ignored,
            refused_by_rule: b
                .refused_by_rule
                .iter()
                .enumerate()
                .filter(|(_, &count)| count > 0)
                .filter_map(named)
                .collect(),
            overlapping: b.overlapping,
            members: b.members,
            cut_at_begin: b.cut_at_begin,
            cut_at_end: b.cut_at_end,
        }
    }
}

/// Keeps one record per request. To analyse while a thread appends, [`split`](Recorder::split)
/// it.
#[derive(Debug)]
pub struct Recorder {
    handle: NonNull<sys::tw_recorder>,
}

// It may move to another thread, but not be shared: only its writer may ask it.
unsafe impl Send for Recorder {}

impl Recorder {
    pub fn new() -> Result<Recorder> {
        let mut handle = null_mut();
        check(unsafe { sys::tw_recorder_new(&mut handle, null()) })?;
        let handle = NonNull::new(handle).ok_or_else(|| Error::new(sys::TW_ERR_NOMEM))?;
        Ok(Recorder { handle })
    }

    /// Appends one request. If it is refused, the error says why, and nothing is stored.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let record = record.to_c()?;
        let (size, recorder) = (size_of::<sys::tw_record>(), self.handle.as_ptr());
        let status = unsafe { sys::tw_recorder_append(recorder, &record, 1, size, 0, null_mut()) };
        self.check_append(status)
    }

    /// Appends many requests, all or none.
    pub fn append_columns(&mut self, columns: &Columns) -> Result<()> {
        self.columns(columns, 0).map(drop)
    }

    /// Appends the good rows and counts the bad ones; returns how many were good.
    pub fn append_columns_skip_invalid(&mut self, columns: &Columns) -> Result<usize> {
        self.columns(columns, sys::TW_APPEND_SKIP_INVALID)
    }

    fn columns(&mut self, columns: &Columns, flags: u32) -> Result<usize> {
        let columns = columns.to_c()?;
        let mut accepted = 0;
        let status = unsafe {
            sys::tw_recorder_append_columns(self.handle.as_ptr(), &columns, flags, &mut accepted)
        };
        self.check_append(status).map(|()| accepted)
    }

    fn check_append(&self, status: i32) -> Result<()> {
        if status == sys::TW_OK {
            return Ok(());
        }
        let mut error = sys::tw_error::zero();
        error.struct_size = size_of::<sys::tw_error>() as u32;
        check(unsafe { sys::tw_recorder_last_error(self.handle.as_ptr(), &mut error) })?;
        let rule = text(unsafe { sys::tw_rule_name(error.rule) });
        let refusal = rule.filter(|_| error.status == status).map(|rule| Refusal {
            rule,
            text: text(unsafe { sys::tw_rule_text(error.rule) }).unwrap_or(""),
            field: text(unsafe { sys::tw_field_name(error.field) }).unwrap_or("record"),
            row: error.row,
            index: error.index,
            value_a: error.value_a,
            value_b: error.value_b,
        });
        Err(Error { status, refusal })
    }

    /// Makes room for that many more records now.
    pub fn reserve(&mut self, records: u64) -> Result<()> {
        check(unsafe { sys::tw_recorder_reserve(self.handle.as_ptr(), records) })
    }

    /// Forgets all records; analyses of them stay.
    pub fn clear(&mut self) {
        unsafe { sys::tw_recorder_clear(self.handle.as_ptr()) }
    }

    /// What to add to this recorder's times when an analysis begins.
    pub fn set_clock(&mut self, offset_ns: i64) -> Result<()> {
        let mut clock = sys::tw_clock::zero();
        clock.struct_size = size_of::<sys::tw_clock>() as u32;
        clock.offset_ns = offset_ns;
        check(unsafe { sys::tw_recorder_set_clock(self.handle.as_ptr(), &clock) })
    }

    pub fn balance(&self) -> Result<Balance> {
        let mut balance = sys::tw_balance::zero();
        balance.struct_size = size_of::<sys::tw_balance>() as u32;
        check(unsafe { sys::tw_recorder_balance(self.handle.as_ptr(), &mut balance) })?;
        Ok(balance.into())
    }

    /// Number of records stored.
    pub fn len(&self) -> u64 {
        unsafe { sys::tw_recorder_count(self.handle.as_ptr()) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that it holds.
    pub fn memory(&self) -> u64 {
        unsafe { sys::tw_recorder_memory(self.handle.as_ptr()) }
    }

    /// Analyses this recorder alone, over the whole run.
    pub fn analyze(&self) -> Result<Analysis> {
        analyze(&[self.reader()], &Options::default())
    }

    /// What [`analyze`] takes.
    pub fn reader(&self) -> Reader<'_> {
        Reader {
            handle: self.handle,
            recorder: PhantomData,
        }
    }

    /// For as long as both live: one end to append with, and one that any number of threads may
    /// analyse meanwhile.
    pub fn split(&mut self) -> (Writer<'_>, Reader<'_>) {
        let reader = Reader {
            handle: self.handle,
            recorder: PhantomData,
        };
        (
            Writer {
                recorder: std::mem::ManuallyDrop::new(Recorder {
                    handle: self.handle,
                }),
                borrowed: PhantomData,
            },
            reader,
        )
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        unsafe { sys::tw_recorder_free(self.handle.as_ptr()) }
    }
}

/// The end of a [split](Recorder::split) recorder that appends. It cannot clear.
#[derive(Debug)]
pub struct Writer<'a> {
    recorder: std::mem::ManuallyDrop<Recorder>,
    borrowed: PhantomData<&'a mut Recorder>,
}

impl Writer<'_> {
    pub fn append(&mut self, record: &Record) -> Result<()> {
        self.recorder.append(record)
    }

    pub fn append_columns(&mut self, columns: &Columns) -> Result<()> {
        self.recorder.append_columns(columns)
    }

    pub fn append_columns_skip_invalid(&mut self, columns: &Columns) -> Result<usize> {
        self.recorder.append_columns_skip_invalid(columns)
    }

    pub fn balance(&self) -> Result<Balance> {
        self.recorder.balance()
    }
}

/// A recorder as [`analyze`] reads it. As long as one lives, the recorder cannot be cleared or
/// dropped.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    handle: NonNull<sys::tw_recorder>,
    recorder: PhantomData<&'a Recorder>,
}

// All it leads to are calls that may run beside the writer.
unsafe impl Send for Reader<'_> {}
unsafe impl Sync for Reader<'_> {}

impl Reader<'_> {
    /// Number of records stored.
    pub fn len(&self) -> u64 {
        unsafe { sys::tw_recorder_count(self.handle.as_ptr()) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// ---------------------------------------------------------------- analysis

/// How to analyse; by default the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    pub begin_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// To be at hand beside the standard ones.
    pub quantiles: &'a [f64],
}

/// One metric in numbers, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub avg: f64,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub std: Option<f64>,
    pub sum: Option<f64>,
    pub weight_ns: Option<i64>,
    pub active_ns: Option<i64>,
    pub count: Option<u64>,
}

/// Formats of [`Analysis::report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Format {
    Text = 1,
    Csv = 2,
    Json = 3,
}

/// An immutable result; it does not need the recorders any more.
#[derive(Debug)]
pub struct Analysis {
    handle: NonNull<sys::tw_analysis>,
}

unsafe impl Send for Analysis {}
unsafe impl Sync for Analysis {}

/// Analyses recorders together, as one run.
pub fn analyze(recorders: &[Reader], options: &Options) -> Result<Analysis> {
    let recorders: Vec<_> = recorders.iter().map(|r| r.handle.as_ptr()).collect();
    let mut c = sys::tw_options::zero();
    c.struct_size = size_of::<sys::tw_options>() as u32;
    if let Some(begin_ns) = options.begin_ns {
        c.flags |= sys::TW_WINDOW_BEGIN;
        c.window_begin_ns = begin_ns;
    }
    if let Some(end_ns) = options.end_ns {
        c.flags |= sys::TW_WINDOW_END;
        c.window_end_ns = end_ns;
    }
    c.quantiles = pointer_or_null(options.quantiles);
    c.quantile_count = options.quantiles.len() as u64;
    let mut handle = null_mut();
    check(unsafe { sys::tw_analyze(&mut handle, recorders.as_ptr(), recorders.len(), &c) })?;
    Analysis::own(handle)
}

impl Analysis {
    fn own(handle: *mut sys::tw_analysis) -> Result<Analysis> {
        let handle = NonNull::new(handle).ok_or_else(|| Error::new(sys::TW_ERR_NOMEM))?;
        Ok(Analysis { handle })
    }

    /// `None`: the metric was not measured in this run.
    pub fn summary(&self, metric: MetricId) -> Result<Option<Summary>> {
        let mut s = sys::tw_summary::zero();
        s.struct_size = size_of::<sys::tw_summary>() as u32;
        let status = unsafe { sys::tw_analysis_summary(self.handle.as_ptr(), metric.0, &mut s) };
        let has = |bit| s.fields & bit != 0;
        let summary = Summary {
            avg: s.avg,
            min: has(sys::TW_HAS_MIN).then_some(s.min),
            max: has(sys::TW_HAS_MAX).then_some(s.max),
            std: has(sys::TW_HAS_STD).then_some(s.std),
            sum: has(sys::TW_HAS_SUM).then_some(s.sum),
            weight_ns: has(sys::TW_HAS_WEIGHT).then_some(s.weight_ns),
            active_ns: has(sys::TW_HAS_ACTIVE).then_some(s.active_ns),
            count: has(sys::TW_HAS_COUNT).then_some(s.count),
        };
        emitted(status, summary)
    }

    /// The values at `q`; `None`: the metric was not measured in this run.
    pub fn quantiles(&self, metric: MetricId, q: &[f64]) -> Result<Option<Vec<f64>>> {
        let mut values = vec![0.0; q.len()];
        let status = unsafe {
            sys::tw_analysis_quantiles(
                self.handle.as_ptr(),
                metric.0,
                q.as_ptr(),
                values.as_mut_ptr(),
                q.len(),
            )
        };
        emitted(status, values)
    }

    /// Another window of the same records.
    pub fn window(&self, begin_ns: i64, end_ns: i64) -> Result<Analysis> {
        let mut handle = null_mut();
        check(unsafe {
            sys::tw_analysis_window(&mut handle, self.handle.as_ptr(), begin_ns, end_ns)
        })?;
        Analysis::own(handle)
    }

    /// The window: begin and end.
    pub fn bounds(&self) -> Result<(i64, i64)> {
        let (mut begin, mut end) = (0, 0);
        check(unsafe { sys::tw_analysis_bounds(self.handle.as_ptr(), &mut begin, &mut end) })?;
        Ok((begin, end))
    }

    pub fn balance(&self) -> Result<Balance> {
        let mut balance = sys::tw_balance::zero();
        balance.struct_size = size_of::<sys::tw_balance>() as u32;
        check(unsafe { sys::tw_analysis_balance(self.handle.as_ptr(), &mut balance) })?;
        Ok(balance.into())
    }

    /// The metric's curve, piece by piece; `None`: not measured in this run.
    pub fn curve(&self, metric: MetricId) -> Result<Option<Vec<Segment>>> {
        const PAGE: usize = 4096;
        let (mut from_ns, end_ns) = self.bounds()?;
        let mut curve = Vec::new();
        loop {
            let mut page = vec![Segment::zero(); PAGE];
            let (mut written, mut next_ns) = (0, 0);
            let status = unsafe {
                sys::tw_analysis_curve(
                    self.handle.as_ptr(),
                    metric.0,
                    from_ns,
                    page.as_mut_ptr(),
                    PAGE,
                    size_of::<Segment>(),
                    &mut written,
                    &mut next_ns,
                )
            };
            if emitted(status, ())?.is_none() {
                return Ok(None);
            }
            curve.extend_from_slice(&page[..written]);
            if next_ns == end_ns {
                return Ok(Some(curve));
            }
            from_ns = next_ns;
        }
    }

    /// The metric's curve in `count` bins; `None`: not measured in this run.
    pub fn series(
        &self,
        metric: MetricId,
        begin_ns: i64,
        width_ns: i64,
        count: usize,
    ) -> Result<Option<Vec<Bin>>> {
        let mut bins = vec![Bin::zero(); count];
        let status = unsafe {
            sys::tw_analysis_series(
                self.handle.as_ptr(),
                metric.0,
                begin_ns,
                width_ns,
                bins.as_mut_ptr(),
                count,
                size_of::<Bin>(),
            )
        };
        emitted(status, bins)
    }

    /// The whole report.
    pub fn report(&self, format: Format) -> Result<String> {
        extern "C" fn write(report: *mut c_void, bytes: *const c_char, length: usize) -> i32 {
            // No panic may cross the library: memory that is not there stops the report.
            let report = unsafe { &mut *report.cast::<Vec<u8>>() };
            let bytes = unsafe { std::slice::from_raw_parts(bytes.cast(), length) };
            if report.try_reserve(length).is_err() {
                return 1;
            }
            report.extend_from_slice(bytes);
            0
        }
        let mut report: Vec<u8> = Vec::new();
        let user_data = (&mut report as *mut Vec<u8>).cast();
        check(unsafe {
            sys::tw_report_write(
                self.handle.as_ptr(),
                format as i32,
                null(),
                write,
                user_data,
            )
        })?;
        Ok(String::from_utf8_lossy(&report).into_owned())
    }
}

impl Drop for Analysis {
    fn drop(&mut self) {
        unsafe { sys::tw_analysis_free(self.handle.as_ptr()) }
    }
}

/// The metric of a tag such as "effective_latency".
pub fn find(tag: &str) -> Option<MetricId> {
    let tag = CString::new(tag).ok()?;
    let mut id = 0;
    match unsafe { sys::tw_metric_find(tag.as_ptr(), &mut id) } {
        sys::TW_OK => Some(MetricId(id)),
        _ => None,
    }
}
