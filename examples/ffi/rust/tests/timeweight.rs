// SPDX-License-Identifier: MIT

use timeweight::{
    analyze, find, metric, metrics, sys, Analysis, Column, Columns, Format, Options, Record,
    Recorder, Segment, Status,
};

fn request(start_ns: i64, end_ns: i64) -> Record<'static> {
    Record {
        end_ns: Some(end_ns),
        ..Record::new(start_ns)
    }
}

/// Concurrency 1, 2, 1 over 10 ns each.
fn three_steps() -> Recorder {
    let mut recorder = Recorder::new().unwrap();
    recorder
        .append_columns(&Columns {
            start_ns: (&[0, 10]).into(),
            end_ns: (&[20, 30]).into(),
            ..Columns::default()
        })
        .unwrap();
    recorder
}

fn mean(analysis: &Analysis, metric: timeweight::MetricId) -> f64 {
    analysis.summary(metric).unwrap().unwrap().avg
}

#[test]
fn summary() {
    let analysis = three_steps().analyze().unwrap(); // outlives its recorder
    let summary = analysis
        .summary(metric::EFFECTIVE_CONCURRENCY)
        .unwrap()
        .unwrap();
    assert_eq!(summary.avg, 4.0 / 3.0);
    assert_eq!((summary.min, summary.max), (Some(1.0), Some(2.0)));
    assert_eq!((summary.weight_ns, summary.count), (Some(30), None));
    let latency = analysis.summary(metric::REQUEST_LATENCY).unwrap().unwrap();
    assert_eq!((latency.count, latency.sum), (Some(2), Some(40e-6)));
    assert_eq!(latency.weight_ns, None);
}

#[test]
fn not_measured() {
    let analysis = three_steps().analyze().unwrap();
    assert_eq!(analysis.summary(metric::TIME_TO_FIRST_TOKEN), Ok(None));
    assert_eq!(
        analysis.quantiles(metric::TIME_TO_FIRST_TOKEN, &[0.5]),
        Ok(None)
    );
    assert!(analysis.curve(metric::TOKENS_IN_FLIGHT).unwrap().is_none());
    assert!(analysis
        .series(metric::TOKENS_IN_FLIGHT, 0, 1, 1)
        .unwrap()
        .is_none());
}

#[test]
fn quantiles() {
    // 20 of 30 ns lie at 1.
    let analysis = three_steps().analyze().unwrap();
    let q = analysis.quantiles(metric::EFFECTIVE_CONCURRENCY, &[0.0, 0.66, 0.67, 1.0]);
    assert_eq!(q.unwrap().unwrap(), [1.0, 1.0, 2.0, 2.0]);
    let wrong = analysis
        .quantiles(metric::EFFECTIVE_CONCURRENCY, &[1.5])
        .unwrap_err();
    assert_eq!(
        (wrong.status, wrong.name()),
        (sys::TW_ERR_INVAL, "TW_ERR_INVAL")
    );
}

#[test]
fn windows() {
    let recorder = three_steps();
    let analysis = recorder.analyze().unwrap();
    let window = analysis.window(10, 20).unwrap();
    drop(analysis);
    assert_eq!(window.bounds(), Ok((10, 20)));
    assert_eq!(mean(&window, metric::EFFECTIVE_CONCURRENCY), 2.0);
    let options = Options {
        begin_ns: Some(20),
        quantiles: &[0.123],
        ..Options::default()
    };
    let tail = analyze(&[recorder.reader()], &options).unwrap();
    assert_eq!(tail.bounds(), Ok((20, 30)));
    assert_eq!(tail.balance().unwrap().members, 1);
    let backwards = Options {
        begin_ns: Some(31),
        ..Options::default()
    };
    assert!(analyze(&[recorder.reader()], &backwards).is_err());
}

#[test]
fn curve_and_series() {
    let analysis = three_steps().analyze().unwrap();
    let curve = analysis
        .curve(metric::EFFECTIVE_CONCURRENCY)
        .unwrap()
        .unwrap();
    let pieces: Vec<_> = curve
        .iter()
        .map(|s| (s.begin_ns, s.end_ns, s.value))
        .collect();
    assert_eq!(pieces, [(0, 10, 1.0), (10, 20, 2.0), (20, 30, 1.0)]);
    let bins = analysis
        .series(metric::EFFECTIVE_CONCURRENCY, 0, 20, 2)
        .unwrap()
        .unwrap();
    let means: Vec<_> = bins.iter().map(|b| (b.weight_ns, b.mean)).collect();
    assert_eq!(means, [(20, 1.5), (10, 1.0)]);
}

#[test]
fn curve_of_many_pages() {
    let start: Vec<i64> = (0..5000).map(|i| i * 10).collect();
    let end: Vec<i64> = start.iter().map(|start| start + 5).collect();
    let mut recorder = Recorder::new().unwrap();
    recorder
        .append_columns(&Columns {
            start_ns: (&start).into(),
            end_ns: (&end).into(),
            ..Columns::default()
        })
        .unwrap();
    let curve: Vec<Segment> = recorder
        .analyze()
        .unwrap()
        .curve(metric::EFFECTIVE_CONCURRENCY)
        .unwrap()
        .unwrap();
    assert_eq!(curve.len(), 9999);
    assert!(curve
        .windows(2)
        .all(|pair| pair[0].end_ns == pair[1].begin_ns));
}

#[test]
fn refused_row() {
    let mut recorder = Recorder::new().unwrap();
    let columns = Columns {
        start_ns: (&[0, 50, 0]).into(),
        end_ns: (&[1, 40, -1]).into(),
        ..Columns::default()
    };
    let error = recorder.append_columns(&columns).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 1: end_ns must not be earlier than start_ns [end_before_start]"
    );
    let refusal = error.refusal.unwrap();
    assert_eq!((refusal.row, refusal.value_a, refusal.value_b), (1, 40, 50));
    assert!(recorder.is_empty());

    assert_eq!(recorder.append_columns_skip_invalid(&columns), Ok(1));
    let balance = recorder.balance().unwrap();
    assert_eq!((balance.issued, balance.refused), (1, 3));
    assert_eq!(balance.refused_by_rule, [("end_before_start", 3)]);
}

#[test]
fn refused_record() {
    let mut recorder = Recorder::new().unwrap();
    let error = recorder.append(&request(5, 4)).unwrap_err();
    assert_eq!(error.refusal.unwrap().rule, "end_before_start");
}

#[test]
fn columns_of_other_lengths() {
    let mut recorder = Recorder::new().unwrap();
    for columns in [
        Columns {
            start_ns: (&[0, 1]).into(),
            end_ns: (&[2]).into(),
            ..Columns::default()
        },
        Columns {
            end_ns: (&[2]).into(),
            ..Columns::default()
        },
        Columns {
            start_ns: Column::with_validity(&[0, 1], &[true]),
            ..Columns::default()
        },
        Columns {
            start_ns: (&[0]).into(),
            chunk_offsets: &[0],
            ..Columns::default()
        },
        Columns {
            start_ns: (&[0]).into(),
            chunk_tokens: &[1],
            ..Columns::default()
        },
    ] {
        let error = recorder.append_columns(&columns).unwrap_err();
        assert_eq!((error.status, error.refusal), (sys::TW_ERR_INVAL, None));
    }
    let record = Record {
        chunk_tokens: &[1],
        ..request(0, 1)
    };
    assert!(recorder.append(&record).is_err());
    assert!(recorder.is_empty());
}

#[test]
fn every_member_arrives() {
    let mut recorder = Recorder::new().unwrap();
    recorder
        .append(&Record {
            credit_issued_ns: Some(0),
            generation_start_ns: Some(20_000_000),
            input_tokens: Some(7),
            output_tokens: Some(3),
            streaming: true,
            chunk_arrival_ns: &[30_000_000, 60_000_000],
            chunk_tokens: &[1, 1],
            ..request(10_000_000, 60_000_000)
        })
        .unwrap();
    let analysis = recorder.analyze().unwrap();
    assert_eq!(mean(&analysis, metric::EFFECTIVE_LATENCY), 60.0);
    assert_eq!(mean(&analysis, metric::CREDIT_TO_START_LATENCY), 10.0);
    assert_eq!(mean(&analysis, metric::TIME_TO_FIRST_TOKEN), 10.0);
    assert_eq!(mean(&analysis, metric::INTER_CHUNK_LATENCY), 20.0);
    assert_eq!(mean(&analysis, metric::INPUT_SEQUENCE_LENGTH), 7.0);
    assert_eq!(mean(&analysis, metric::OUTPUT_SEQUENCE_LENGTH), 3.0);

    let mut by_column = Recorder::new().unwrap();
    by_column
        .append_columns(&Columns {
            credit_issued_ns: (&[0]).into(),
            start_ns: (&[10_000_000]).into(),
            generation_start_ns: (&[20_000_000]).into(),
            end_ns: (&[60_000_000]).into(),
            input_tokens: (&[7]).into(),
            output_tokens: (&[3]).into(),
            status: (&[0]).into(),
            record_flags: (&[1]).into(),
            chunk_offsets: &[0, 2],
            chunk_arrival_ns: &[30_000_000, 60_000_000],
            chunk_tokens: &[1, 1],
        })
        .unwrap();
    let report = by_column.analyze().unwrap().report(Format::Json).unwrap();
    assert_eq!(report, analysis.report(Format::Json).unwrap());
}

#[test]
fn statuses_and_what_is_not_recorded() {
    let mut recorder = Recorder::new().unwrap();
    recorder
        .append_columns(&Columns {
            start_ns: (&[0, 0, 0]).into(),
            end_ns: Column::with_validity(&[1, 1, -9], &[true, true, false]),
            status: (&[0, 1, 0]).into(),
            ..Columns::default()
        })
        .unwrap();
    recorder
        .append(&Record {
            status: Status::Cancelled,
            ..request(0, 1)
        })
        .unwrap();
    let b = recorder.balance().unwrap();
    assert_eq!(
        (b.issued, b.ok, b.failed, b.cancelled, b.in_flight),
        (4, 1, 1, 1, 1)
    );
}

#[test]
fn registry() {
    let rows = metrics().unwrap();
    assert_eq!(rows[0].tag, "effective_concurrency");
    assert_eq!((rows[0].unit, rows[0].mask), ("requests", None));
    assert_eq!(
        find("active_total_throughput"),
        Some(metric::ACTIVE_TOTAL_THROUGHPUT)
    );
    assert_eq!(find("no_such_metric"), None);
    assert_eq!(find("with\0inside"), None);
}

#[test]
fn reports() {
    let analysis = three_steps().analyze().unwrap();
    assert!(analysis
        .report(Format::Text)
        .unwrap()
        .contains("Effective Concurrency (requests)"));
    assert!(analysis.report(Format::Csv).unwrap().lines().count() > 1);
}

#[test]
fn recorders_with_clocks() {
    let (mut one, mut two) = (Recorder::new().unwrap(), Recorder::new().unwrap());
    one.append(&request(0, 10)).unwrap();
    two.append(&request(1000, 1010)).unwrap();
    two.set_clock(-1000).unwrap();
    let analysis = analyze(&[one.reader(), two.reader()], &Options::default()).unwrap();
    assert_eq!(mean(&analysis, metric::EFFECTIVE_CONCURRENCY), 2.0);
    assert!(two.set_clock(i64::MAX).is_err());
}

#[test]
fn reserve_and_clear() {
    let mut recorder = Recorder::new().unwrap();
    recorder.reserve(10_000).unwrap();
    assert!(recorder.memory() > 10_000 * 48);
    recorder.append(&request(0, 1)).unwrap();
    assert_eq!(recorder.len(), 1);
    recorder.clear();
    assert!(recorder.is_empty());
}

#[test]
fn analyses_while_a_thread_appends() {
    let mut recorder = Recorder::new().unwrap();
    let (mut writer, reader) = recorder.split();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for i in 0..20_000 {
                writer.append(&request(i, i + 1)).unwrap();
            }
            assert_eq!(writer.balance().unwrap().issued, 20_000);
        });
        let mut seen = 0;
        while reader.len() < 20_000 {
            let analysis = analyze(&[reader], &Options::default()).unwrap();
            let issued = analysis.balance().unwrap().issued;
            assert!(issued >= seen);
            seen = issued;
        }
    });
    recorder.clear(); // the ends are gone
    assert!(recorder.is_empty());
}
