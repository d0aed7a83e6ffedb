# SPDX-License-Identifier: MIT
"""timeweight.py with engines that speak Arrow: pyarrow, polars and DuckDB."""

import gc
import unittest

import duckdb
import polars
import pyarrow
import timeweight as tw

COLUMNS = {
    "start_ns": [0, 10, 20],
    "end_ns": [20, 30, None],
    "status": ["ok", "failed", None],
    "output_tokens": [3, 4, 5],
}


class Engines(unittest.TestCase):
    def tables(self):
        records = pyarrow.table(COLUMNS)
        yield "pyarrow", records
        yield "batches", pyarrow.Table.from_batches(records.to_batches(max_chunksize=1))
        yield "polars", polars.DataFrame(COLUMNS)
        yield "duckdb", duckdb.sql("select * from records")

    def test_in(self):
        for name, table in self.tables():
            with self.subTest(name), tw.Recorder() as recorder:
                self.assertEqual(recorder.append_arrow(table), 3)
                self.assertEqual(recorder.balance()[:5], (3, 1, 1, 0, 1))

    def test_out(self):
        with tw.Recorder() as recorder:
            recorder.append_columns(start_ns=[0, 10], end_ns=[20, 30])
            with tw.analyze(recorder) as analysis:
                metrics = analysis.arrow_metrics()
                curve = analysis.arrow_curve("effective_concurrency")
                series = analysis.arrow_series("effective_concurrency", 0, 20, 2)
                wanted = [(metric.tag, summary.avg) for metric, summary in analysis.summaries()]
                table = pyarrow.table(metrics)
                self.assertEqual(
                    list(zip(table["metric"].to_pylist(), table["avg"].to_pylist())), wanted)
                self.assertEqual(polars.DataFrame(curve).rows(),
                                 [(0, 10, 1.0), (10, 20, 2.0), (20, 30, 1.0)])
                bins = pyarrow.table(series)
        self.assertEqual(bins["mean"].to_pylist(), [1.5, 1.0])  # lives on
        self.assertEqual(duckdb.sql("select sum(weight_ns) from bins").fetchall(), [(30,)])
        gc.collect()
        self.assertEqual(tw._given, {})

    def test_refused(self):
        with tw.Recorder() as recorder:
            with self.assertRaises(tw.RecordError) as caught:
                recorder.append_arrow(pyarrow.table({"start_ns": [0, 5], "end_ns": [1, 4]}))
            self.assertEqual((caught.exception.row, caught.exception.rule_name),
                             (1, "end_before_start"))
            with self.assertRaisesRegex(tw.Error, "start_ns"):
                recorder.append_arrow(pyarrow.table({"began": [0]}))
            stored = recorder.append_arrow(
                pyarrow.table({"start_ns": [0, 5], "end_ns": [1, 4]}), skip_invalid=True)
            self.assertEqual(stored, 1)

    def test_a_stream_that_fails(self):
        def batches():
            yield pyarrow.record_batch({"start_ns": [0]})
            raise RuntimeError("the disk is gone")

        reader = pyarrow.RecordBatchReader.from_batches(
            pyarrow.schema([("start_ns", pyarrow.int64())]), batches())
        with tw.Recorder() as recorder:
            with self.assertRaisesRegex(tw.Error, "the disk is gone") as caught:
                recorder.append_arrow(reader)
            self.assertEqual(caught.exception.status, tw.ERR_IO)
            self.assertEqual(len(recorder), 0)


if __name__ == "__main__":
    unittest.main()
