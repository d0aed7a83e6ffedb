// SPDX-License-Identifier: MIT

package timeweight

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// What README.md shows.
func concurrency() (float64, error) {
	recorder, err := NewRecorder()
	if err != nil {
		return 0, err
	}
	defer recorder.Close()
	record := NewRecord()
	record.StartNS, record.GenerationStartNS, record.EndNS = 0, 100, 900
	record.OutputTokens = 9
	if err := recorder.Append(&record); err != nil {
		return 0, err
	}
	analysis, err := Analyze(nil, recorder)
	if err != nil {
		return 0, err
	}
	defer analysis.Close()
	summary, err := analysis.Summary(EffectiveConcurrency)
	return summary.Avg, err
}

func TestReadme(t *testing.T) {
	mean, err := concurrency()
	equal(t, "error", err, nil)
	equal(t, "mean", mean, 1.0)
}

func newRecorder(t *testing.T) *Recorder {
	t.Helper()
	r, err := NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func request(startNS, endNS int64) *Record {
	record := NewRecord()
	record.StartNS, record.EndNS = startNS, endNS
	return &record
}

// Concurrency 1, 2, 1 over 10 ns each.
func threeSteps(t *testing.T) *Recorder {
	t.Helper()
	r := newRecorder(t)
	if err := r.AppendColumns(&Columns{StartNS: []int64{0, 10}, EndNS: []int64{20, 30}}); err != nil {
		t.Fatal(err)
	}
	return r
}

func analyze(t *testing.T, options *Options, recorders ...*Recorder) *Analysis {
	t.Helper()
	a, err := Analyze(options, recorders...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func mean(t *testing.T, a *Analysis, metric Metric) float64 {
	t.Helper()
	s, err := a.Summary(metric)
	if err != nil {
		t.Fatal(err)
	}
	return s.Avg
}

func equal(t *testing.T, what string, got, want interface{}) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

func TestSummary(t *testing.T) {
	r := threeSteps(t)
	a := analyze(t, nil, r)
	r.Close() // the analysis does not need it
	s, err := a.Summary(EffectiveConcurrency)
	want := Summary{
		Fields: HasAvg | HasMin | HasMax | HasStd | HasWeight,
		Avg:    4.0 / 3, Min: 1, Max: 2, Std: math.Sqrt2 / 3, WeightNS: 30,
	}
	if math.Abs(s.Std-want.Std) < 1e-15 {
		s.Std = want.Std
	}
	equal(t, "summary", s, want)
	equal(t, "error", err, nil)
	s, _ = a.Summary(RequestLatency)
	equal(t, "count", s.Count, uint64(2))
	equal(t, "sum", s.Sum, 40e-6)
}

func TestNotMeasured(t *testing.T) {
	a := analyze(t, nil, threeSteps(t))
	_, summary := a.Summary(TimeToFirstToken)
	_, quantiles := a.Quantiles(TimeToFirstToken, 0.5)
	_, curve := a.Curve(TokensInFlight)
	_, series := a.Series(TokensInFlight, 0, 1, 1)
	for _, err := range []error{summary, quantiles, curve, series} {
		if !errors.Is(err, ErrNoData) {
			t.Error(err)
		}
	}
}

func TestQuantiles(t *testing.T) {
	// 20 of 30 ns lie at 1.
	a := analyze(t, &Options{Quantiles: []float64{0.66}}, threeSteps(t))
	values, err := a.Quantiles(EffectiveConcurrency, 0, 0.66, 0.67, 1)
	equal(t, "values", values, []float64{1, 1, 2, 2})
	equal(t, "error", err, nil)
	_, err = a.Quantiles(EffectiveConcurrency, 1.5)
	equal(t, "beyond 1", err, ErrInval)
	equal(t, "name", err.(Status).Name(), "TW_ERR_INVAL")
}

func TestWindows(t *testing.T) {
	r := threeSteps(t)
	a := analyze(t, nil, r)
	middle, err := a.Window(10, 20)
	if err != nil {
		t.Fatal(err)
	}
	defer middle.Close()
	a.Close()
	equal(t, "mean", mean(t, middle, EffectiveConcurrency), 2.0)
	tail := analyze(t, &Options{Window: &Window{20, TimeNone}}, r)
	bounds, _ := tail.Bounds()
	equal(t, "bounds", bounds, Window{20, 30})
	balance, _ := tail.Balance()
	equal(t, "members", balance.Members, uint64(1))
	_, err = Analyze(&Options{Window: &Window{31, TimeNone}}, r)
	equal(t, "begins after its end", err, ErrInval)
}

func TestCurveAndSeries(t *testing.T) {
	a := analyze(t, nil, threeSteps(t))
	curve, err := a.Curve(EffectiveConcurrency)
	equal(t, "curve", curve, []Segment{{0, 10, 1}, {10, 20, 2}, {20, 30, 1}})
	equal(t, "error", err, nil)
	series, err := a.Series(EffectiveConcurrency, 0, 20, 2)
	equal(t, "series", series, []Bin{{0, 20, 1.5, 1, 2}, {20, 10, 1, 1, 1}})
	equal(t, "error", err, nil)
}

func TestCurveOfManyPages(t *testing.T) {
	r := newRecorder(t)
	for i := int64(0); i < 5000; i++ {
		if err := r.Append(request(10*i, 10*i+5)); err != nil {
			t.Fatal(err)
		}
	}
	curve, err := analyze(t, nil, r).Curve(EffectiveConcurrency)
	equal(t, "error", err, nil)
	equal(t, "segments", len(curve), 9999)
	for i := 1; i < len(curve); i++ {
		if curve[i].BeginNS != curve[i-1].EndNS {
			t.Fatalf("a gap before segment %d", i)
		}
	}
}

func TestRefusedRow(t *testing.T) {
	r := newRecorder(t)
	columns := Columns{StartNS: []int64{0, 50, 0}, EndNS: []int64{1, 40, -1}}
	err := r.AppendColumns(&columns)
	var refused *RecordError
	if !errors.As(err, &refused) || !errors.Is(err, ErrRange) {
		t.Fatal(err)
	}
	equal(t, "error", *refused, RecordError{
		Status: ErrRange, Rule: "end_before_start", Text: "must not be earlier than start_ns",
		Field: "end_ns", Row: 1, ValueA: 40, ValueB: 50,
	})
	equal(t, "text", err.Error(),
		"row 1: end_ns must not be earlier than start_ns [end_before_start]")
	equal(t, "count", r.Count(), uint64(0))

	stored, err := r.AppendColumnsSkipInvalid(&columns)
	equal(t, "stored", stored, 1)
	equal(t, "error", err, nil)
	balance, _ := r.Balance()
	equal(t, "refused", balance.RefusedByRule, map[string]uint64{"end_before_start": 3})

	if err := r.Append(request(5, 4)); !errors.As(err, &refused) || refused.Row != 0 {
		t.Error(err)
	}
}

func TestColumnsOfOtherLengths(t *testing.T) {
	r := newRecorder(t)
	two := []int64{0, 1}
	for _, columns := range []Columns{
		{StartNS: two, EndNS: two[:1]},
		{EndNS: two},
		{StartNS: two, StartValid: []bool{true}},
		{StartNS: two, ChunkOffsets: []uint64{0}},
		{StartNS: two, ChunkTokens: two},
	} {
		columns := columns
		if err := r.AppendColumns(&columns); !errors.Is(err, ErrInval) {
			t.Error(err)
		}
	}
	record := request(0, 1)
	record.ChunkTokens = two
	if err := r.Append(record); !errors.Is(err, ErrInval) {
		t.Error(err)
	}
	equal(t, "count", r.Count(), uint64(0))
	equal(t, "no rows", r.AppendColumns(&Columns{}), nil)
}

// Each field of a record, and each column, arrives where it belongs.
func TestEveryMember(t *testing.T) {
	const ms = 1000000
	one := newRecorder(t)
	record := Record{
		CreditIssuedNS: 0, StartNS: 10 * ms, GenerationStartNS: 20 * ms, EndNS: 60 * ms,
		InputTokens: 7, OutputTokens: 3, Streaming: true,
		ChunkArrivalNS: []int64{30 * ms, 60 * ms}, ChunkTokens: []int64{1, 1},
	}
	if err := one.Append(&record); err != nil {
		t.Fatal(err)
	}
	a := analyze(t, nil, one)
	for metric, want := range map[Metric]float64{
		EffectiveLatency: 60, CreditToStartLatency: 10, TimeToFirstToken: 10,
		TimeToSecondToken: 10, InterChunkLatency: 20, InputSequenceLength: 7,
		OutputSequenceLength: 3,
	} {
		equal(t, "mean", mean(t, a, metric), want)
	}

	two := newRecorder(t)
	err := two.AppendColumns(&Columns{
		CreditIssuedNS: []int64{0}, StartNS: []int64{10 * ms}, GenerationStartNS: []int64{20 * ms},
		EndNS: []int64{60 * ms}, InputTokens: []int64{7}, OutputTokens: []int64{3},
		Status: []RecordStatus{RecordOK}, Flags: []uint32{1},
		CreditIssuedValid: []bool{true}, StartValid: []bool{true},
		GenerationStartValid: []bool{true}, EndValid: []bool{true}, InputValid: []bool{true},
		OutputValid: []bool{true}, StatusValid: []bool{true}, FlagsValid: []bool{true},
		ChunkOffsets: []uint64{0, 2}, ChunkArrivalNS: []int64{30 * ms, 60 * ms},
		ChunkTokens: []int64{1, 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := a.Report(JSON)
	got, _ := analyze(t, nil, two).Report(JSON)
	equal(t, "report", string(got), string(want))
}

func TestNotRecordedRows(t *testing.T) {
	r := newRecorder(t)
	err := r.AppendColumns(&Columns{
		StartNS: []int64{0, 0, 0}, EndNS: []int64{1, 1, -9}, EndValid: []bool{true, true, false},
		Status:      []RecordStatus{RecordCancelled, RecordFailed, RecordFailed},
		StatusValid: []bool{true, true, false},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := r.Balance()
	equal(t, "balance", []uint64{b.Issued, b.OK, b.Failed, b.Cancelled, b.InFlight},
		[]uint64{3, 0, 1, 1, 1})
}

func TestRegistry(t *testing.T) {
	metrics, err := Metrics()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "first", metrics[0].Tag+" "+metrics[0].Unit, "effective_concurrency requests")
	named := map[Metric]bool{}
	for _, m := range metrics {
		named[m.ID] = true
		id, err := FindMetric(m.Tag)
		if id != m.ID || err != nil {
			t.Error(m.Tag, id, err)
		}
	}
	equal(t, "constants", named[TotalTokenThroughput] && named[AdjRequestLatency], true)
	_, err = FindMetric("no_such_metric")
	equal(t, "unknown", err, ErrNotSup)
}

func TestReports(t *testing.T) {
	a := analyze(t, nil, threeSteps(t))
	text, err := a.Report(Text)
	if err != nil || !strings.Contains(string(text), "Effective Concurrency (requests)") {
		t.Error(string(text), err)
	}
	report, err := a.Report(JSON)
	if err != nil || !json.Valid(report) {
		t.Error(string(report), err)
	}
	_, err = a.Report(Format(99))
	equal(t, "unknown format", err, ErrNotSup)
}

func TestRecordersWithClocks(t *testing.T) {
	one, two := newRecorder(t), newRecorder(t)
	equal(t, "error", one.Append(request(0, 10)), nil)
	equal(t, "error", two.Append(request(1000, 1010)), nil)
	equal(t, "error", two.SetClock(-1000), nil)
	equal(t, "mean", mean(t, analyze(t, nil, one, two), EffectiveConcurrency), 2.0)
	equal(t, "out of range", two.SetClock(math.MaxInt64), ErrInval)
}

func TestReserveAndClear(t *testing.T) {
	r := newRecorder(t)
	equal(t, "error", r.Reserve(10000), nil)
	equal(t, "room", r.Memory() > 10000*48, true)
	equal(t, "error", r.Append(request(0, 1)), nil)
	equal(t, "count", r.Count(), uint64(1))
	r.Clear()
	equal(t, "count", r.Count(), uint64(0))
}

// What is closed, even twice, takes and gives nothing.
func TestClosed(t *testing.T) {
	r := threeSteps(t)
	a := analyze(t, nil, r)
	r.Close()
	r.Close()
	a.Close()
	a.Close()
	equal(t, "append", r.Append(request(0, 1)), ErrInval)
	_, err := Analyze(nil, r)
	equal(t, "analyze", err, ErrInval)
	_, err = a.Summary(EffectiveConcurrency)
	equal(t, "summary", err, ErrInval)
	_, err = a.Report(Text)
	equal(t, "report", err, ErrInval)
}

func TestForgotten(t *testing.T) {
	for i := 0; i < 100; i++ {
		r, err := NewRecorder()
		if err != nil || r.Append(request(0, 1)) != nil {
			t.Fatal(err)
		}
		if _, err := Analyze(nil, r); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
}

func TestAnalysesWhileAGoroutineAppends(t *testing.T) {
	const records = 20000
	r := newRecorder(t)
	done := make(chan error)
	go func() {
		for i := int64(0); i < records; i++ {
			if err := r.Append(request(i, i+1)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	var seen uint64
	for r.Count() < records {
		a, err := Analyze(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		balance, _ := a.Balance()
		a.Close()
		if balance.Issued < seen {
			t.Fatal("records went away")
		}
		seen = balance.Issued
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
