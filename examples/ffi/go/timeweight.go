// SPDX-License-Identifier: MIT

// Package timeweight is libtimeweight for Go: exact time-weighted metrics of load tests.
//
// Times are integers in ns of one monotonic clock. TimeNone and TokensNone mean "not recorded".
// Recorders and analyses are released by Close; one that is forgotten is released when it is
// collected.
package timeweight

/*
#cgo pkg-config: timeweight
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

// Memory of Go that holds pointers to memory of Go must not go to C, so structs with pointers
// inside are put together here, from arguments.

static int32_t append_record(tw_recorder *recorder, const tw_record *record,
                             const int64_t *chunk_arrival_ns, const int64_t *chunk_tokens)
{
    tw_record whole = *record;
    whole.chunk_arrival_ns = chunk_arrival_ns;
    whole.chunk_tokens = chunk_tokens;
    return tw_recorder_append(recorder, &whole, 1, sizeof whole, 0, NULL);
}

static tw_column column(const void *values, const uint8_t *validity)
{
    tw_column column;
    memset(&column, 0, sizeof column);
    column.values = values;
    column.validity = validity;
    return column;
}

static int32_t append_columns(
    tw_recorder *recorder, uint64_t count,
    const int64_t *credit_issued_ns, const uint8_t *credit_issued_valid,
    const int64_t *start_ns, const uint8_t *start_valid,
    const int64_t *generation_start_ns, const uint8_t *generation_start_valid,
    const int64_t *end_ns, const uint8_t *end_valid,
    const int64_t *input_tokens, const uint8_t *input_valid,
    const int64_t *output_tokens, const uint8_t *output_valid,
    const int32_t *status, const uint8_t *status_valid,
    const uint32_t *record_flags, const uint8_t *record_flags_valid,
    const uint64_t *chunk_offsets, const int64_t *chunk_arrival_ns,
    const int64_t *chunk_tokens, uint64_t chunk_value_count,
    uint32_t flags, size_t *accepted)
{
    tw_columns columns;
    memset(&columns, 0, sizeof columns);
    columns.struct_size = sizeof columns;
    columns.count = count;
    columns.credit_issued_ns = column(credit_issued_ns, credit_issued_valid);
    columns.start_ns = column(start_ns, start_valid);
    columns.generation_start_ns = column(generation_start_ns, generation_start_valid);
    columns.end_ns = column(end_ns, end_valid);
    columns.input_tokens = column(input_tokens, input_valid);
    columns.output_tokens = column(output_tokens, output_valid);
    columns.status = column(status, status_valid);
    columns.record_flags = column(record_flags, record_flags_valid);
    columns.chunk_offsets = chunk_offsets;
    columns.chunk_arrival_ns = chunk_arrival_ns;
    columns.chunk_tokens = chunk_tokens;
    columns.chunk_value_count = chunk_value_count;
    return tw_recorder_append_columns(recorder, &columns, flags, accepted);
}

static int32_t analyze(tw_analysis **analysis, tw_recorder *const *recorders, size_t count,
                       uint32_t flags, int64_t begin_ns, int64_t end_ns,
                       const double *quantiles, uint64_t quantile_count)
{
    tw_options options;
    tw_options_init(&options, sizeof options);
    options.flags = flags;
    options.window_begin_ns = begin_ns;
    options.window_end_ns = end_ns;
    options.quantiles = quantiles;
    options.quantile_count = quantile_count;
    return tw_analyze(analysis, recorders, count, &options);
}

// A report in malloc's memory, which doubles as it grows.
typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;

static int32_t write_text(void *user_data, const char *bytes, size_t length)
{
    text *text = user_data;
    if (length > text->capacity - text->length) {
        size_t capacity = 2 * text->capacity + length;
        char *grown = realloc(text->bytes, capacity);
        if (grown == NULL) {
            return 1;
        }
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

static int32_t report(const tw_analysis *analysis, int32_t format, text *text)
{
    return tw_report_write(analysis, format, NULL, write_text, text);
}
*/
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

const (
	// TimeNone is the time that was not recorded.
	TimeNone int64 = math.MinInt64
	// TokensNone is the token count that was not recorded.
	TokensNone int64 = -1
)

// ---------------------------------------------------------------- errors

// Status is what a call came to.
type Status int32

// The library's statuses, as errors for errors.Is.
const (
	ErrNoMem  Status = C.TW_ERR_NOMEM
	ErrInval  Status = C.TW_ERR_INVAL
	ErrRange  Status = C.TW_ERR_RANGE
	ErrNoData Status = C.TW_ERR_NODATA // not measured in this run
	ErrNotSup Status = C.TW_ERR_NOTSUP
	ErrIO     Status = C.TW_ERR_IO
	ErrABI    Status = C.TW_ERR_ABI
)

func (s Status) Error() string {
	return C.GoString(C.tw_strerror(C.int32_t(s)))
}

// Name is the constant's name in C, such as "TW_ERR_RANGE".
func (s Status) Name() string {
	return C.GoString(C.tw_status_name(C.int32_t(s)))
}

// RecordError says why a record was refused; nothing of the call was stored.
type RecordError struct {
	Status Status
	Rule   string // which rule it breaks, such as "end_before_start"
	Text   string // what the rule asks for, to be read after Field
	Field  string // the field at fault
	Row    uint64 // its row in the call
	Index  uint64 // of chunks: which of the record's
	ValueA int64  // the field's value
	ValueB int64  // what it was compared with
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("row %d: %s %s [%s]", e.Row, e.Field, e.Text, e.Rule)
}

// Unwrap gives the status, so that errors.Is(err, ErrRange) holds.
func (e *RecordError) Unwrap() error {
	return e.Status
}

func check(status C.int32_t) error {
	if status == C.TW_OK {
		return nil
	}
	return Status(status)
}

// Version is that of the library that runs, such as "0.1.0".
func Version() string {
	return C.GoString(C.tw_version_string())
}

// ---------------------------------------------------------------- records

// RecordStatus is how a request ended.
type RecordStatus int32

// A request that is in flight has the status RecordOK.
const (
	RecordOK        RecordStatus = C.TW_RECORD_OK
	RecordFailed    RecordStatus = C.TW_RECORD_FAILED
	RecordCancelled RecordStatus = C.TW_RECORD_CANCELLED
)

// Record is what is known about one request. Begin with NewRecord: zero is a time.
type Record struct {
	CreditIssuedNS    int64 // when it was due
	StartNS           int64 // when it was handed to the transport
	GenerationStartNS int64 // when its first token arrived
	EndNS             int64 // when it ended; TimeNone: it is in flight
	InputTokens       int64
	OutputTokens      int64
	ChunkArrivalNS    []int64 // arrivals of the content chunks after the first token
	ChunkTokens       []int64 // what each of them brought; nil: not known
	Status            RecordStatus
	Streaming         bool // the response was to stream, even if no token came
}

// NewRecord has every field "not recorded".
func NewRecord() Record {
	return Record{
		CreditIssuedNS:    TimeNone,
		StartNS:           TimeNone,
		GenerationStartNS: TimeNone,
		EndNS:             TimeNone,
		InputTokens:       TokensNone,
		OutputTokens:      TokensNone,
	}
}

// Columns are many records by field. A nil slice is "not recorded in any row"; the others have
// one length. Slices are read where they lie.
type Columns struct {
	CreditIssuedNS    []int64
	StartNS           []int64
	GenerationStartNS []int64
	EndNS             []int64
	InputTokens       []int64
	OutputTokens      []int64
	Status            []RecordStatus
	Flags             []uint32 // 1: the response was to stream

	// Valid, where a field has one, is false in the rows where it was not recorded.
	CreditIssuedValid    []bool
	StartValid           []bool
	GenerationStartValid []bool
	EndValid             []bool
	InputValid           []bool
	OutputValid          []bool
	StatusValid          []bool
	FlagsValid           []bool

	// Row i has the chunks from ChunkOffsets[i] up to ChunkOffsets[i+1].
	ChunkOffsets   []uint64
	ChunkArrivalNS []int64
	ChunkTokens    []int64
}

// first is where a slice lies; nil for an empty one.
func first[T any](values []T) unsafe.Pointer {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Pointer(&values[0])
}

func int64s(values []int64) *C.int64_t {
	return (*C.int64_t)(first(values))
}

func bools(values []bool) *C.uint8_t {
	return (*C.uint8_t)(first(values))
}

func (c *Columns) check() error {
	rows := len(c.StartNS)
	columns := []struct {
		name   string
		length int
	}{
		{"CreditIssuedNS", len(c.CreditIssuedNS)},
		{"GenerationStartNS", len(c.GenerationStartNS)},
		{"EndNS", len(c.EndNS)},
		{"InputTokens", len(c.InputTokens)},
		{"OutputTokens", len(c.OutputTokens)},
		{"Status", len(c.Status)},
		{"Flags", len(c.Flags)},
		{"CreditIssuedValid", len(c.CreditIssuedValid)},
		{"StartValid", len(c.StartValid)},
		{"GenerationStartValid", len(c.GenerationStartValid)},
		{"EndValid", len(c.EndValid)},
		{"InputValid", len(c.InputValid)},
		{"OutputValid", len(c.OutputValid)},
		{"StatusValid", len(c.StatusValid)},
		{"FlagsValid", len(c.FlagsValid)},
	}
	for _, column := range columns {
		if column.length != 0 && column.length != rows {
			return fmt.Errorf("%s has %d rows and StartNS %d: %w", column.name, column.length,
				rows, ErrInval)
		}
	}
	if len(c.ChunkOffsets) != 0 && len(c.ChunkOffsets) != rows+1 {
		return fmt.Errorf("ChunkOffsets: %d are needed, not %d: %w", rows+1, len(c.ChunkOffsets),
			ErrInval)
	}
	return checkChunks(c.ChunkArrivalNS, c.ChunkTokens)
}

func checkChunks(arrivals, tokens []int64) error {
	if len(tokens) != 0 && len(tokens) != len(arrivals) {
		return fmt.Errorf("%d ChunkTokens and %d ChunkArrivalNS: %w", len(tokens), len(arrivals),
			ErrInval)
	}
	return nil
}

// ---------------------------------------------------------------- recorder

// Recorder keeps one record per request. One goroutine at a time writes to a recorder; others may
// Analyze it meanwhile.
type Recorder struct {
	handle *C.tw_recorder
	record C.tw_record // the one that Append fills
}

// NewRecorder makes an empty recorder.
func NewRecorder() (*Recorder, error) {
	r := &Recorder{}
	if err := check(C.tw_recorder_new(&r.handle, nil)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(r, (*Recorder).Close)
	return r, nil
}

// Close releases the recorder; analyses of it stay. A closed recorder takes and gives nothing.
// No Analyze of it may be running.
func (r *Recorder) Close() {
	C.tw_recorder_free(r.handle)
	r.handle = nil
	runtime.SetFinalizer(r, nil)
}

// Append stores one request. If it is refused, the error is a *RecordError.
func (r *Recorder) Append(record *Record) error {
	defer runtime.KeepAlive(r)
	if err := checkChunks(record.ChunkArrivalNS, record.ChunkTokens); err != nil {
		return err
	}
	r.record.credit_issued_ns = C.int64_t(record.CreditIssuedNS)
	r.record.start_ns = C.int64_t(record.StartNS)
	r.record.generation_start_ns = C.int64_t(record.GenerationStartNS)
	r.record.end_ns = C.int64_t(record.EndNS)
	r.record.input_tokens = C.int64_t(record.InputTokens)
	r.record.output_tokens = C.int64_t(record.OutputTokens)
	r.record.chunk_count = C.uint64_t(len(record.ChunkArrivalNS))
	r.record.status = C.int32_t(record.Status)
	r.record.flags = 0
	if record.Streaming {
		r.record.flags = C.TW_RECORD_STREAMING
	}
	return r.check(C.append_record(r.handle, &r.record, int64s(record.ChunkArrivalNS),
		int64s(record.ChunkTokens)))
}

// AppendColumns stores many requests, all or none.
func (r *Recorder) AppendColumns(columns *Columns) error {
	_, err := r.appendColumns(columns, 0)
	return err
}

// AppendColumnsSkipInvalid stores the good rows, counts the bad ones in Balance, and says how many
// were good.
func (r *Recorder) AppendColumnsSkipInvalid(columns *Columns) (int, error) {
	return r.appendColumns(columns, C.TW_APPEND_SKIP_INVALID)
}

func (r *Recorder) appendColumns(c *Columns, flags C.uint32_t) (int, error) {
	defer runtime.KeepAlive(r)
	if err := c.check(); err != nil {
		return 0, err
	}
	var accepted C.size_t
	err := r.check(C.append_columns(r.handle, C.uint64_t(len(c.StartNS)),
		int64s(c.CreditIssuedNS), bools(c.CreditIssuedValid),
		int64s(c.StartNS), bools(c.StartValid),
		int64s(c.GenerationStartNS), bools(c.GenerationStartValid),
		int64s(c.EndNS), bools(c.EndValid),
		int64s(c.InputTokens), bools(c.InputValid),
		int64s(c.OutputTokens), bools(c.OutputValid),
		(*C.int32_t)(first(c.Status)), bools(c.StatusValid),
		(*C.uint32_t)(first(c.Flags)), bools(c.FlagsValid),
		(*C.uint64_t)(first(c.ChunkOffsets)), int64s(c.ChunkArrivalNS),
		int64s(c.ChunkTokens), C.uint64_t(len(c.ChunkArrivalNS)), flags, &accepted))
	return int(accepted), err
}

func (r *Recorder) check(status C.int32_t) error {
	if status == C.TW_OK {
		return nil
	}
	e := C.tw_error{struct_size: C.sizeof_tw_error}
	if C.tw_recorder_last_error(r.handle, &e) != C.TW_OK || e.status != status ||
		C.tw_rule_name(e.rule) == nil {
		return Status(status)
	}
	field := "record"
	if name := C.tw_field_name(e.field); name != nil {
		field = C.GoString(name)
	}
	return &RecordError{
		Status: Status(status),
		Rule:   C.GoString(C.tw_rule_name(e.rule)),
		Text:   C.GoString(C.tw_rule_text(e.rule)),
		Field:  field,
		Row:    uint64(e.row),
		Index:  uint64(e.index),
		ValueA: int64(e.value_a),
		ValueB: int64(e.value_b),
	}
}

// Reserve makes room for that many more records now.
func (r *Recorder) Reserve(records uint64) error {
	defer runtime.KeepAlive(r)
	return check(C.tw_recorder_reserve(r.handle, C.uint64_t(records)))
}

// Clear forgets all records. No Analyze of the recorder may be running.
func (r *Recorder) Clear() {
	C.tw_recorder_clear(r.handle)
	runtime.KeepAlive(r)
}

// SetClock says what to add to this recorder's times when an analysis begins.
func (r *Recorder) SetClock(offsetNS int64) error {
	defer runtime.KeepAlive(r)
	clock := C.tw_clock{struct_size: C.sizeof_tw_clock, offset_ns: C.int64_t(offsetNS)}
	return check(C.tw_recorder_set_clock(r.handle, &clock))
}

// Count is the number of records stored. Any goroutine.
func (r *Recorder) Count() uint64 {
	defer runtime.KeepAlive(r)
	return uint64(C.tw_recorder_count(r.handle))
}

// Memory is the number of bytes that the recorder holds.
func (r *Recorder) Memory() uint64 {
	defer runtime.KeepAlive(r)
	return uint64(C.tw_recorder_memory(r.handle))
}

// Balance says where every record went.
type Balance struct {
	Issued, OK, Failed, Cancelled, InFlight, Refused uint64
	CreditAfterStart, ChunkTokensIgnored             uint64
	RefusedByRule                                    map[string]uint64 // rules that were broken
	Overlapping, Members, CutAtBegin, CutAtEnd       uint64            // of an analysis' window
}

func newBalance(b *C.tw_balance) Balance {
	balance := Balance{
		Issued:             uint64(b.issued),
		OK:                 uint64(b.ok),
		Failed:             uint64(b.failed),
		Cancelled:          uint64(b.cancelled),
		InFlight:           uint64(b.in_flight),
		Refused:            uint64(b.refused),
		CreditAfterStart:   uint64(b.credit_after_start),
		ChunkTokensIgnored: uint64(b.chunk_tokens_ignored),
		RefusedByRule:      map[string]uint64{},
		Overlapping:        uint64(b.overlapping),
		Members:            uint64(b.members),
		CutAtBegin:         uint64(b.cut_at_begin),
		CutAtEnd:           uint64(b.cut_at_end),
	}
	for rule, count := range b.refused_by_rule {
		if count > 0 {
			balance.RefusedByRule[C.GoString(C.tw_rule_name(C.int32_t(rule)))] = uint64(count)
		}
	}
	return balance
}

// Balance says where every record went so far.
func (r *Recorder) Balance() (Balance, error) {
	defer runtime.KeepAlive(r)
	b := C.tw_balance{struct_size: C.sizeof_tw_balance}
	if err := check(C.tw_recorder_balance(r.handle, &b)); err != nil {
		return Balance{}, err
	}
	return newBalance(&b), nil
}

// ---------------------------------------------------------------- analysis

// Window is the time that an analysis integrates over; TimeNone: the run's own edge.
type Window struct {
	BeginNS, EndNS int64
}

// Options say how to analyse; zero is the whole run.
type Options struct {
	Window    *Window
	Quantiles []float64 // to be at hand beside the standard ones
}

// Analysis is an immutable result. Any goroutine may ask it, and it needs no recorder any more.
// ErrNoData as an error means that the metric was not measured in this run.
type Analysis struct {
	handle *C.tw_analysis
}

// Analyze analyses recorders as one run; nil options are the defaults.
func Analyze(options *Options, recorders ...*Recorder) (*Analysis, error) {
	if options == nil {
		options = &Options{}
	}
	var flags C.uint32_t
	var begin, end C.int64_t
	if w := options.Window; w != nil && w.BeginNS != TimeNone {
		flags |= C.TW_WINDOW_BEGIN
		begin = C.int64_t(w.BeginNS)
	}
	if w := options.Window; w != nil && w.EndNS != TimeNone {
		flags |= C.TW_WINDOW_END
		end = C.int64_t(w.EndNS)
	}
	handles := make([]*C.tw_recorder, len(recorders))
	for i, r := range recorders {
		handles[i] = r.handle
	}
	var handle *C.tw_analysis
	err := check(C.analyze(&handle, (**C.tw_recorder)(first(handles)), C.size_t(len(handles)),
		flags, begin, end, (*C.double)(first(options.Quantiles)),
		C.uint64_t(len(options.Quantiles))))
	runtime.KeepAlive(recorders)
	return newAnalysis(handle, err)
}

func newAnalysis(handle *C.tw_analysis, err error) (*Analysis, error) {
	if err != nil {
		return nil, err
	}
	a := &Analysis{handle}
	runtime.SetFinalizer(a, (*Analysis).Close)
	return a, nil
}

// Close releases the analysis. No other call on it may be running.
func (a *Analysis) Close() {
	C.tw_analysis_free(a.handle)
	a.handle = nil
	runtime.SetFinalizer(a, nil)
}

// Window analyses another window of the same records.
func (a *Analysis) Window(beginNS, endNS int64) (*Analysis, error) {
	defer runtime.KeepAlive(a)
	var handle *C.tw_analysis
	err := check(C.tw_analysis_window(&handle, a.handle, C.int64_t(beginNS), C.int64_t(endNS)))
	return newAnalysis(handle, err)
}

// Bounds are the edges of the window.
func (a *Analysis) Bounds() (Window, error) {
	defer runtime.KeepAlive(a)
	var begin, end C.int64_t
	err := check(C.tw_analysis_bounds(a.handle, &begin, &end))
	return Window{int64(begin), int64(end)}, err
}

// Balance says where every record went, with the window's members.
func (a *Analysis) Balance() (Balance, error) {
	defer runtime.KeepAlive(a)
	b := C.tw_balance{struct_size: C.sizeof_tw_balance}
	if err := check(C.tw_analysis_balance(a.handle, &b)); err != nil {
		return Balance{}, err
	}
	return newBalance(&b), nil
}

// Fields say which members of a Summary hold a value.
type Fields uint32

// The bits of Fields.
const (
	HasAvg    Fields = C.TW_HAS_AVG
	HasMin    Fields = C.TW_HAS_MIN
	HasMax    Fields = C.TW_HAS_MAX
	HasStd    Fields = C.TW_HAS_STD
	HasSum    Fields = C.TW_HAS_SUM
	HasWeight Fields = C.TW_HAS_WEIGHT
	HasActive Fields = C.TW_HAS_ACTIVE
	HasCount  Fields = C.TW_HAS_COUNT
)

// Summary is one metric in numbers, in its unit.
type Summary struct {
	Fields                  Fields
	Avg, Min, Max, Std, Sum float64
	WeightNS, ActiveNS      int64
	Count                   uint64
}

// Summary of one metric.
func (a *Analysis) Summary(metric Metric) (Summary, error) {
	defer runtime.KeepAlive(a)
	s := C.tw_summary{struct_size: C.sizeof_tw_summary}
	if err := check(C.tw_analysis_summary(a.handle, C.int32_t(metric), &s)); err != nil {
		return Summary{}, err
	}
	return Summary{
		Fields:   Fields(s.fields),
		Avg:      float64(s.avg),
		Min:      float64(s.min),
		Max:      float64(s.max),
		Std:      float64(s.std),
		Sum:      float64(s.sum),
		WeightNS: int64(s.weight_ns),
		ActiveNS: int64(s.active_ns),
		Count:    uint64(s.count),
	}, nil
}

// Quantiles of one metric, each q in [0, 1].
func (a *Analysis) Quantiles(metric Metric, q ...float64) ([]float64, error) {
	defer runtime.KeepAlive(a)
	values := make([]float64, len(q))
	err := check(C.tw_analysis_quantiles(a.handle, C.int32_t(metric), (*C.double)(first(q)),
		(*C.double)(first(values)), C.size_t(len(q))))
	if err != nil {
		return nil, err
	}
	return values, nil
}

// Segment is a piece of a curve: Value from BeginNS up to EndNS.
type Segment struct {
	BeginNS, EndNS int64
	Value          float64
}

// Curve is the metric's curve, piece by piece.
func (a *Analysis) Curve(metric Metric) ([]Segment, error) {
	defer runtime.KeepAlive(a)
	window, err := a.Bounds()
	if err != nil {
		return nil, err
	}
	var curve []Segment
	page := make([]C.tw_segment, 4096)
	for from := C.int64_t(window.BeginNS); ; {
		var written C.size_t
		err := check(C.tw_analysis_curve(a.handle, C.int32_t(metric), from, &page[0],
			C.size_t(len(page)), C.sizeof_tw_segment, &written, &from))
		if err != nil {
			return nil, err
		}
		for _, s := range page[:written] {
			curve = append(curve, Segment{int64(s.begin_ns), int64(s.end_ns), float64(s.value)})
		}
		if int64(from) == window.EndNS {
			return curve, nil
		}
	}
}

// Bin is a curve over one bin of time; WeightNS 0: it has no value there.
type Bin struct {
	BeginNS, WeightNS int64
	Mean, Min, Max    float64
}

// Series is the metric's curve in count bins.
func (a *Analysis) Series(metric Metric, beginNS, widthNS int64, count int) ([]Bin, error) {
	defer runtime.KeepAlive(a)
	bins := make([]C.tw_bin, count)
	err := check(C.tw_analysis_series(a.handle, C.int32_t(metric), C.int64_t(beginNS),
		C.int64_t(widthNS), (*C.tw_bin)(first(bins)), C.size_t(count), C.sizeof_tw_bin))
	if err != nil {
		return nil, err
	}
	series := make([]Bin, count)
	for i, b := range bins {
		series[i] = Bin{int64(b.begin_ns), int64(b.weight_ns), float64(b.mean), float64(b.min),
			float64(b.max)}
	}
	return series, nil
}

// Format of a report.
type Format int32

// The formats.
const (
	Text Format = C.TW_FORMAT_TEXT
	CSV  Format = C.TW_FORMAT_CSV
	JSON Format = C.TW_FORMAT_JSON
)

// Report is the whole report.
func (a *Analysis) Report(format Format) ([]byte, error) {
	defer runtime.KeepAlive(a)
	var text C.text
	err := check(C.report(a.handle, C.int32_t(format), &text))
	defer C.free(unsafe.Pointer(text.bytes))
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(text.bytes)), text.length)...), nil
}
