// SPDX-License-Identifier: MIT
//! See bench.c.

use std::time::Instant;
use timeweight::{Columns, Record, Recorder, Result};

const ROWS: i64 = 1_000_000;

fn best(append: impl Fn(&mut Recorder) -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let mut recorder = Recorder::new()?;
        let begin = Instant::now();
        append(&mut recorder)?;
        best = best.min(begin.elapsed().as_nanos() as f64);
    }
    Ok(best / ROWS as f64)
}

fn main() -> Result<()> {
    let in_a_loop = best(|recorder| {
        (0..ROWS).try_for_each(|i| {
            recorder.append(&Record {
                credit_issued_ns: Some(i * 1000),
                generation_start_ns: Some(i * 1000 + 100),
                end_ns: Some(i * 1000 + 5000),
                input_tokens: Some(200),
                output_tokens: Some(100),
                ..Record::new(i * 1000 + 5)
            })
        })
    })?;
    let column =
        |first: i64, step: i64| -> Vec<i64> { (0..ROWS).map(|i| first + i * step).collect() };
    let (credit, start, first) = (column(0, 1000), column(5, 1000), column(100, 1000));
    let (end, input, output) = (column(5000, 1000), column(200, 0), column(100, 0));
    let columns = best(|recorder| {
        recorder.append_columns(&Columns {
            credit_issued_ns: (&credit).into(),
            start_ns: (&start).into(),
            generation_start_ns: (&first).into(),
            end_ns: (&end).into(),
            input_tokens: (&input).into(),
            output_tokens: (&output).into(),
            ..Columns::default()
        })
    })?;
    println!("rust {:.1} {:.1}", in_a_loop, columns);
    Ok(())
}
