// SPDX-License-Identifier: MIT

package timeweight

/*
#include <stdlib.h>
#include <timeweight/timeweight.h>
*/
import "C"

import "unsafe"

// Metric is a metric's number, which is stable.
type Metric int32

// The metrics.
const (
	EffectiveConcurrency              Metric = C.TW_EFFECTIVE_CONCURRENCY
	EffectiveDecodeThroughput         Metric = C.TW_EFFECTIVE_DECODE_THROUGHPUT
	EffectivePrefillThroughput        Metric = C.TW_EFFECTIVE_PREFILL_THROUGHPUT
	EffectiveDecodeConcurrency        Metric = C.TW_EFFECTIVE_DECODE_CONCURRENCY
	EffectivePrefillConcurrency       Metric = C.TW_EFFECTIVE_PREFILL_CONCURRENCY
	EffectiveTotalThroughput          Metric = C.TW_EFFECTIVE_TOTAL_THROUGHPUT
	EffectiveDecodeThroughputPerUser  Metric = C.TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER
	EffectivePrefillThroughputPerUser Metric = C.TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER
	TokensInFlight                    Metric = C.TW_TOKENS_IN_FLIGHT
	EffectiveQueueDepth               Metric = C.TW_EFFECTIVE_QUEUE_DEPTH
	EffectiveLatency                  Metric = C.TW_EFFECTIVE_LATENCY
	AdjEffectiveLatency               Metric = C.TW_ADJ_EFFECTIVE_LATENCY
	ActiveDecodeThroughput            Metric = C.TW_ACTIVE_DECODE_THROUGHPUT
	ActivePrefillThroughput           Metric = C.TW_ACTIVE_PREFILL_THROUGHPUT
	ActiveDecodeThroughputPerUser     Metric = C.TW_ACTIVE_DECODE_THROUGHPUT_PER_USER
	ActivePrefillThroughputPerUser    Metric = C.TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER
	ActiveTotalThroughput             Metric = C.TW_ACTIVE_TOTAL_THROUGHPUT
	TimeToFirstToken                  Metric = C.TW_TIME_TO_FIRST_TOKEN
	TimeToSecondToken                 Metric = C.TW_TIME_TO_SECOND_TOKEN
	RequestLatency                    Metric = C.TW_REQUEST_LATENCY
	InterTokenLatency                 Metric = C.TW_INTER_TOKEN_LATENCY
	InterChunkLatency                 Metric = C.TW_INTER_CHUNK_LATENCY
	OutputTokenThroughputPerUser      Metric = C.TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER
	OutputSequenceLength              Metric = C.TW_OUTPUT_SEQUENCE_LENGTH
	InputSequenceLength               Metric = C.TW_INPUT_SEQUENCE_LENGTH
	CreditToStartLatency              Metric = C.TW_CREDIT_TO_START_LATENCY
	AdjRequestLatency                 Metric = C.TW_ADJ_REQUEST_LATENCY
	RequestCount                      Metric = C.TW_REQUEST_COUNT
	ErrorRequestCount                 Metric = C.TW_ERROR_REQUEST_COUNT
	BenchmarkDuration                 Metric = C.TW_BENCHMARK_DURATION
	RequestThroughput                 Metric = C.TW_REQUEST_THROUGHPUT
	OutputTokenThroughput             Metric = C.TW_OUTPUT_TOKEN_THROUGHPUT
	TotalTokenThroughput              Metric = C.TW_TOTAL_TOKEN_THROUGHPUT
)

// MetricInfo is a row of the registry.
type MetricInfo struct {
	ID          Metric
	Group, Kind int32
	Mask        Metric // of Active metrics: the concurrency that must be positive; else 0
	Better      int32  // 1: higher is better, -1: lower is, 0: neither
	Tag         string
	Header      string
	Unit        string
	Description string
}

// Metrics are all metrics, in the order of a report.
func Metrics() ([]MetricInfo, error) {
	var metrics []MetricInfo
	for i := C.size_t(0); i < C.tw_metric_count(); i++ {
		row := C.tw_metric_row{struct_size: C.sizeof_tw_metric_row}
		if err := check(C.tw_metric_info(i, &row)); err != nil {
			return nil, err
		}
		metrics = append(metrics, MetricInfo{
			ID:          Metric(row.id),
			Group:       int32(row.group),
			Kind:        int32(row.kind),
			Mask:        Metric(row.mask),
			Better:      int32(row.better),
			Tag:         C.GoString(row.tag),
			Header:      C.GoString(row.header),
			Unit:        C.GoString(row.unit),
			Description: C.GoString(row.description),
		})
	}
	return metrics, nil
}

// FindMetric is the metric of a tag such as "effective_latency"; ErrNotSup: there is none.
func FindMetric(tag string) (Metric, error) {
	name := C.CString(tag)
	defer C.free(unsafe.Pointer(name))
	var id C.int32_t
	err := check(C.tw_metric_find(name, &id))
	return Metric(id), err
}
