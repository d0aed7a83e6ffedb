// SPDX-License-Identifier: MIT
//! The registry of metrics.

use crate::{check, sys, text, Result};
use std::mem::size_of;

/// A metric's number, which is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricId(pub i32);

/// A row of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    pub id: MetricId,
    pub group: i32,
    pub kind: i32,
    /// Of Active metrics: the concurrency that must be positive.
    pub mask: Option<MetricId>,
    /// 1: higher is better, -1: lower is, 0: neither.
    pub better: i32,
    pub tag: &'static str,
    pub header: &'static str,
    pub unit: &'static str,
    pub description: &'static str,
}

/// All metrics, in the order of a report.
pub fn metrics() -> Result<Vec<Metric>> {
    (0..unsafe { sys::tw_metric_count() })
        .map(|index| {
            let mut row = sys::tw_metric_row::zero();
            row.struct_size = size_of::<sys::tw_metric_row>() as u32;
            check(unsafe { sys::tw_metric_info(index, &mut row) })?;
            Ok(Metric {
                id: MetricId(row.id),
                group: row.group,
                kind: row.kind,
                mask: (row.mask != 0).then_some(MetricId(row.mask)),
                better: row.better,
                tag: text(row.tag).unwrap_or(""),
                header: text(row.header).unwrap_or(""),
                unit: text(row.unit).unwrap_or(""),
                description: text(row.description).unwrap_or(""),
            })
        })
        .collect()
}

/// Names for ids, and the list of them for the test below.
macro_rules! ids {
    ($($name:ident = $id:expr,)*) => {
        $(pub const $name: MetricId = MetricId($id);)*

        #[cfg(test)]
        const NAMED: &[(&str, MetricId)] = &[$((stringify!($name), $name)),*];
    };
}

ids! {
    EFFECTIVE_CONCURRENCY = 100,
    EFFECTIVE_DECODE_THROUGHPUT = 101,
    EFFECTIVE_PREFILL_THROUGHPUT = 102,
    EFFECTIVE_DECODE_CONCURRENCY = 103,
    EFFECTIVE_PREFILL_CONCURRENCY = 104,
    EFFECTIVE_TOTAL_THROUGHPUT = 105,
    EFFECTIVE_DECODE_THROUGHPUT_PER_USER = 106,
    EFFECTIVE_PREFILL_THROUGHPUT_PER_USER = 107,
    TOKENS_IN_FLIGHT = 108,
    EFFECTIVE_QUEUE_DEPTH = 109,
    EFFECTIVE_LATENCY = 130,
    ADJ_EFFECTIVE_LATENCY = 131,
    ACTIVE_DECODE_THROUGHPUT = 200,
    ACTIVE_PREFILL_THROUGHPUT = 201,
    ACTIVE_DECODE_THROUGHPUT_PER_USER = 202,
    ACTIVE_PREFILL_THROUGHPUT_PER_USER = 203,
    ACTIVE_TOTAL_THROUGHPUT = 204,
    TIME_TO_FIRST_TOKEN = 800,
    TIME_TO_SECOND_TOKEN = 801,
    REQUEST_LATENCY = 802,
    INTER_TOKEN_LATENCY = 803,
    INTER_CHUNK_LATENCY = 804,
    OUTPUT_TOKEN_THROUGHPUT_PER_USER = 805,
    OUTPUT_SEQUENCE_LENGTH = 806,
    INPUT_SEQUENCE_LENGTH = 807,
    CREDIT_TO_START_LATENCY = 808,
    ADJ_REQUEST_LATENCY = 809,
    REQUEST_COUNT = 840,
    ERROR_REQUEST_COUNT = 841,
    BENCHMARK_DURATION = 842,
    REQUEST_THROUGHPUT = 843,
    OUTPUT_TOKEN_THROUGHPUT = 844,
    TOTAL_TOKEN_THROUGHPUT = 845,
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_the_librarys() {
        for (name, id) in super::NAMED {
            assert_eq!(crate::find(&name.to_lowercase()), Some(*id), "{}", name);
        }
        assert_eq!(super::NAMED.len(), super::metrics().unwrap().len());
    }
}
