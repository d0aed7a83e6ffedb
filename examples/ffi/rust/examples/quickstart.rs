// SPDX-License-Identifier: MIT
//! examples/quickstart.c in Rust: prints the same to the last digit.

use timeweight::{metric, metrics, Columns, Record, Recorder};

const MS: i64 = 1_000_000; // ns
const HALF: i64 = 20; // of the 40 requests

fn due_ns(i: i64) -> i64 {
    i / 4 * 2100 * MS + i % 4 * MS
}

fn decode_ns(i: i64) -> i64 {
    (1600 + 9 * i) * MS
}

/// As C's "%.17g", for numbers of ordinary size.
fn digits(value: f64) -> String {
    let exponent = format!("{:.16e}", value);
    let exponent: i32 = exponent[exponent.find('e').unwrap() + 1..].parse().unwrap();
    let text = format!("{:.*}", (16 - exponent).max(0) as usize, value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut recorder = Recorder::new()?;

    // The first half of the run: each request is appended when it has ended.
    for i in 0..HALF {
        let start_ns = due_ns(i) + 5 * MS;
        recorder.append(&Record {
            credit_issued_ns: Some(due_ns(i)),
            generation_start_ns: Some(start_ns + 100 * MS),
            end_ns: Some(start_ns + 100 * MS + decode_ns(i)),
            input_tokens: Some(200),
            output_tokens: Some(100),
            ..Record::new(start_ns)
        })?;
    }

    // The second half: the requests lie in columns, and one call takes them all.
    let due: Vec<i64> = (HALF..2 * HALF).map(due_ns).collect();
    let start: Vec<i64> = due.iter().map(|due| due + 5 * MS).collect();
    let first: Vec<i64> = start.iter().map(|start| start + 100 * MS).collect();
    let end: Vec<i64> = first
        .iter()
        .zip(HALF..)
        .map(|(first, i)| first + decode_ns(i))
        .collect();
    recorder.append_columns(&Columns {
        credit_issued_ns: (&due).into(),
        start_ns: (&start).into(),
        generation_start_ns: (&first).into(),
        end_ns: (&end).into(),
        input_tokens: (&[200; HALF as usize]).into(),
        output_tokens: (&[100; HALF as usize]).into(),
        ..Columns::default()
    })?;

    // A row that cannot be: nothing of the call is stored, and the error says why.
    let nonsense = recorder.append_columns(&Columns {
        start_ns: (&[0, 500 * MS]).into(),
        end_ns: (&[100 * MS, 400 * MS]).into(),
        ..Columns::default()
    });
    match nonsense {
        Err(error) if error.refusal.is_some() => println!("refused: {}", error),
        other => other?,
    }

    let analysis = recorder.analyze()?;
    for metric in metrics()? {
        if let Some(summary) = analysis.summary(metric.id)? {
            println!("{} {} {}", metric.tag, digits(summary.avg), metric.unit);
        }
    }
    if let Some(latency) = analysis.quantiles(metric::EFFECTIVE_LATENCY, &[0.5, 0.99])? {
        println!(
            "effective latency: p50 {} ms, p99 {} ms",
            digits(latency[0]),
            digits(latency[1])
        );
    }
    Ok(())
}
