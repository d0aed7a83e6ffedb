// SPDX-License-Identifier: MIT

// Examples/quickstart.c in Go: prints the same to the last digit.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"timeweight"
)

const (
	ms   = 1000000 // ns
	half = 20      // of the 40 requests
)

func dueNS(i int64) int64 {
	return i/4*2100*ms + i%4*ms
}

func decodeNS(i int64) int64 {
	return (1600 + 9*i) * ms
}

// The first half of the run: each request is appended when it has ended.
func appendInALoop(recorder *timeweight.Recorder) error {
	for i := int64(0); i < half; i++ {
		record := timeweight.NewRecord()
		record.CreditIssuedNS = dueNS(i)
		record.StartNS = record.CreditIssuedNS + 5*ms
		record.GenerationStartNS = record.StartNS + 100*ms
		record.EndNS = record.GenerationStartNS + decodeNS(i)
		record.InputTokens = 200
		record.OutputTokens = 100
		if err := recorder.Append(&record); err != nil {
			return err
		}
	}
	return nil
}

// The second half: the requests lie in columns, and one call takes them all.
func appendColumns(recorder *timeweight.Recorder) error {
	var columns timeweight.Columns
	for i := int64(half); i < 2*half; i++ {
		start := dueNS(i) + 5*ms
		columns.CreditIssuedNS = append(columns.CreditIssuedNS, dueNS(i))
		columns.StartNS = append(columns.StartNS, start)
		columns.GenerationStartNS = append(columns.GenerationStartNS, start+100*ms)
		columns.EndNS = append(columns.EndNS, start+100*ms+decodeNS(i))
		columns.InputTokens = append(columns.InputTokens, 200)
		columns.OutputTokens = append(columns.OutputTokens, 100)
	}
	return recorder.AppendColumns(&columns)
}

// A row that cannot be: nothing of the call is stored, and the error says why.
func appendNonsense(recorder *timeweight.Recorder) error {
	err := recorder.AppendColumns(&timeweight.Columns{
		StartNS: []int64{0, 500 * ms},
		EndNS:   []int64{100 * ms, 400 * ms},
	})
	var refused *timeweight.RecordError
	if errors.As(err, &refused) {
		fmt.Println("refused:", refused)
		return nil
	}
	return err
}

func digits(value float64) string {
	return strconv.FormatFloat(value, 'g', 17, 64)
}

func run() error {
	recorder, err := timeweight.NewRecorder()
	if err != nil {
		return err
	}
	defer recorder.Close()
	if err := appendInALoop(recorder); err != nil {
		return err
	}
	if err := appendColumns(recorder); err != nil {
		return err
	}
	if err := appendNonsense(recorder); err != nil {
		return err
	}

	analysis, err := timeweight.Analyze(nil, recorder)
	if err != nil {
		return err
	}
	defer analysis.Close()
	metrics, err := timeweight.Metrics()
	if err != nil {
		return err
	}
	for _, metric := range metrics {
		summary, err := analysis.Summary(metric.ID)
		if errors.Is(err, timeweight.ErrNoData) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println(metric.Tag, digits(summary.Avg), metric.Unit)
	}
	latency, err := analysis.Quantiles(timeweight.EffectiveLatency, 0.5, 0.99)
	if err != nil {
		return err
	}
	fmt.Printf("effective latency: p50 %s ms, p99 %s ms\n", digits(latency[0]),
		digits(latency[1]))
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}
