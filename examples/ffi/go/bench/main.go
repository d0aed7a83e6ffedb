// SPDX-License-Identifier: MIT

// See bench.c.
package main

import (
	"fmt"
	"log"
	"time"
	"timeweight"
)

const rows = 1000000

func best(add func(*timeweight.Recorder) error) float64 {
	least := time.Duration(1<<63 - 1)
	for round := 0; round < 10; round++ {
		recorder, err := timeweight.NewRecorder()
		if err != nil {
			log.Fatal(err)
		}
		begin := time.Now()
		err = add(recorder)
		if took := time.Since(begin); took < least {
			least = took
		}
		recorder.Close()
		if err != nil {
			log.Fatal(err)
		}
	}
	return float64(least.Nanoseconds()) / rows
}

func main() {
	loop := best(func(recorder *timeweight.Recorder) error {
		for i := int64(0); i < rows; i++ {
			record := timeweight.NewRecord()
			record.CreditIssuedNS = i * 1000
			record.StartNS = i*1000 + 5
			record.GenerationStartNS = i*1000 + 100
			record.EndNS = i*1000 + 5000
			record.InputTokens = 200
			record.OutputTokens = 100
			if err := recorder.Append(&record); err != nil {
				return err
			}
		}
		return nil
	})
	column := func(first, step int64) []int64 {
		values := make([]int64, rows)
		for i := range values {
			values[i] = first + step*int64(i)
		}
		return values
	}
	columns := timeweight.Columns{
		CreditIssuedNS: column(0, 1000), StartNS: column(5, 1000),
		GenerationStartNS: column(100, 1000), EndNS: column(5000, 1000),
		InputTokens: column(200, 0), OutputTokens: column(100, 0),
	}
	fmt.Printf("go %.1f %.1f\n", loop, best(func(recorder *timeweight.Recorder) error {
		return recorder.AppendColumns(&columns)
	}))
}
