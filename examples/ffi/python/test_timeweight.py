# SPDX-License-Identifier: MIT
"""Tests of timeweight.py. TIMEWEIGHT_LAYOUT names the output of examples/ffi/layout.c."""

import array
import contextlib
import ctypes
import gc
import io
import json
import os
import re
import textwrap
import threading
import unittest
from fractions import Fraction

import numpy as np
import timeweight as tw

NAT = np.datetime64("NaT")


class Layout(unittest.TestCase):
    """Sizes and offsets are those of the compiler."""

    def test_structs(self):
        with open(os.environ["TIMEWEIGHT_LAYOUT"], encoding="ascii") as lines:
            compiled = {name: tuple(map(int, rest)) for name, *rest in map(str.split, lines)}
        checked = 0
        for name, struct in vars(tw).items():
            if not (isinstance(struct, type) and issubclass(struct, ctypes.Structure)
                    and name.startswith(("tw_", "Arrow"))):
                continue
            members = {name: (ctypes.sizeof(struct),)}
            for member, _ in struct._fields_:
                field = getattr(struct, member)
                members[f"{name}.{member}"] = (field.offset, field.size)
            self.assertEqual(members, {key: value for key, value in compiled.items()
                                       if key.split(".")[0] == name})
            checked += 1
        self.assertGreaterEqual(checked, 13)

    def test_numpy(self):
        for struct in (tw.tw_segment, tw.tw_bin):
            self.assertEqual(np.dtype(struct).itemsize, ctypes.sizeof(struct))

    def test_packed_record(self):
        """append() fills every member of tw_record with its own argument."""
        with tw.Recorder() as recorder:
            recorder.append(credit_issued_ns=1, start_ns=2, generation_start_ns=3, end_ns=9,
                            input_tokens=5, output_tokens=6, status=tw.RECORD_FAILED,
                            streaming=True, chunk_arrival_ns=[7, 8], chunk_tokens=[1, 2])
            record = recorder._record
            self.assertEqual([getattr(record, name) for name, _ in tw.tw_record._fields_[:6]],
                             [1, 2, 3, 9, 5, 6])
            self.assertEqual((record.chunk_count, record.status, record.flags), (2, 1, 1))


class Append(unittest.TestCase):
    def setUp(self):
        self.recorder = tw.Recorder()
        self.addCleanup(self.recorder.close)

    def mean(self, tag, **window):
        with tw.analyze(self.recorder, **window) as analysis:
            return analysis.summary(tag).avg

    def test_one_by_one(self):
        # 10 ns of one request, then 5 ns of two: 20 ns over a window of 15.
        self.recorder.append(0, 15)
        self.recorder.append(np.int64(10), 15)
        self.assertEqual(self.mean("effective_concurrency"), 20 / 15)
        self.assertEqual(len(self.recorder), 2)

    def test_columns_as_they_lie(self):
        table = np.array([(0, 4, 9), (4, 8, 9), (8, 16, 9)],
                         dtype=[("start", "i8"), ("end", "i8"), ("other", "i4")])
        stored = self.recorder.append_columns(start_ns=table["start"], end_ns=table["end"])
        self.assertEqual(stored, 3)
        self.assertEqual(self.mean("effective_concurrency"), 1)
        self.assertEqual(self.mean("request_latency"), float(Fraction(16, 3_000_000)))

    def test_strides(self):
        start = np.array([20, 10, 0])
        self.recorder.append_columns(start_ns=start[::-1], end_ns=np.array([10, 20, 30]),
                                     input_tokens=np.broadcast_to(np.int64(7), 3))
        self.assertEqual(self.mean("effective_concurrency"), 1)
        self.assertEqual(self.mean("input_sequence_length"), 7)

    def test_arrays_and_lists(self):
        self.recorder.append_columns(start_ns=array.array("q", [0, 5]), end_ns=[5, 10])
        self.assertEqual(self.mean("effective_concurrency"), 1)

    def test_narrow_and_swapped_integers(self):
        self.recorder.append_columns(start_ns=np.array([0, 5], ">i4"),
                                     end_ns=np.array([5, 10], "u2"))
        self.assertEqual(self.mean("effective_concurrency"), 1)

    def test_dates_and_nat(self):
        start = np.array(["2026-01-01T00:00:00", "2026-01-01T00:00:01"], "datetime64[ms]")
        end = np.array(["2026-01-01T00:00:02", NAT], "datetime64[s]")
        self.recorder.append_columns(start_ns=start, end_ns=end)
        self.assertEqual(self.recorder.balance().in_flight, 1)
        with tw.analyze(self.recorder) as analysis:
            self.assertEqual(analysis.bounds(),
                             (1767225600 * 10**9, 1767225602 * 10**9))

    def test_masked(self):
        end = np.ma.masked_array([10, -5, 20], mask=[False, True, False])
        self.recorder.append_columns(start_ns=[0, 0, 10], end_ns=end)
        self.assertEqual(self.recorder.balance()[:5], (3, 2, 0, 0, 1))

    def test_chunks(self):
        columns = {"start_ns": [0, 0], "generation_start_ns": [0, 0], "end_ns": [40, 40],
                   "output_tokens": [3, 5]}
        self.recorder.append_columns(chunk_offsets=[0, 2, 3], chunk_arrival_ns=[10, 40, 20],
                                     chunk_tokens=[1, 1, 4], **columns)
        # Gaps of 10, 30 and 20 ns.
        self.assertAlmostEqual(self.mean("inter_chunk_latency"), 20e-6, delta=1e-18)
        # 1 + 1 + 4 tokens arrive in 40 ns.
        self.assertAlmostEqual(self.mean("effective_decode_throughput"), 6 / 40e-9, delta=1e-3)
        self.recorder.clear()
        self.recorder.append(0, 40, generation_start_ns=0, output_tokens=3,
                             chunk_arrival_ns=[10, 40], chunk_tokens=[1, 1])
        self.assertAlmostEqual(self.mean("inter_chunk_latency"), 20e-6, delta=1e-18)

    def test_refused_row(self):
        with self.assertRaises(tw.RecordError) as caught:
            self.recorder.append_columns(start_ns=[0, 50, 0], end_ns=[1, 40, -1])
        error = caught.exception
        self.assertEqual((error.status, error.name), (tw.ERR_RANGE, "TW_ERR_RANGE"))
        self.assertEqual((error.rule_name, error.field, error.row), ("end_before_start", "end_ns", 1))
        self.assertEqual((error.value_a, error.value_b), (40, 50))
        self.assertIn("row 1: end_ns must not be earlier than start_ns", str(error))
        self.assertEqual(len(self.recorder), 0)

    def test_refused_record(self):
        with self.assertRaises(tw.RecordError) as caught:
            self.recorder.append(5, 4)
        self.assertEqual((caught.exception.row, caught.exception.rule_name),
                         (0, "end_before_start"))

    def test_skip_invalid(self):
        stored = self.recorder.append_columns(skip_invalid=True, start_ns=[0, 50, 0],
                                              end_ns=[1, 40, -1])
        self.assertEqual(stored, 1)
        self.assertEqual(self.recorder.balance().refused_by_rule, {"end_before_start": 2})

    def test_what_python_would_cut(self):
        for wrong in (2**63, -(2**63) - 1, 1.5, "1"):
            with self.assertRaises(ValueError):
                self.recorder.append(wrong)
        with self.assertRaises(OverflowError):
            self.recorder.append_columns(start_ns=np.array([2**63], np.uint64))
        with self.assertRaises(OverflowError):
            self.recorder.append_columns(start_ns=[0], end_ns=[1], status=[2**32])
        with self.assertRaises(OverflowError):
            self.recorder.set_clock(2**64)
        self.assertEqual(len(self.recorder), 0)

    def test_wrong_columns(self):
        for error, columns in ((TypeError, {"start_ns": [0.5]}), (TypeError, {"began": [0]}),
                               (ValueError, {"start_ns": [0, 1], "end_ns": [0]}),
                               (ValueError, {"start_ns": [[0, 1]]}),
                               (ValueError, {"start_ns": [0], "chunk_offsets": [0]}),
                               (ValueError, {"start_ns": [0], "chunk_tokens": [1]})):
            with self.subTest(columns=columns), self.assertRaises(error):
                self.recorder.append_columns(**columns)
        with self.assertRaises(ValueError):
            self.recorder.append(0, 9, generation_start_ns=0, chunk_tokens=[1])
        self.assertEqual(len(self.recorder), 0)
        with self.assertRaises(tw.Error) as caught:  # offsets that lead outside
            self.recorder.append_columns(start_ns=[0], generation_start_ns=[0],
                                         chunk_offsets=[0, 2], chunk_arrival_ns=[1])
        self.assertEqual(caught.exception.name, "TW_ERR_INVAL")

    def test_no_rows(self):
        self.assertEqual(self.recorder.append_columns(), 0)
        self.assertEqual(self.recorder.append_columns(start_ns=[], end_ns=[]), 0)


class Ask(unittest.TestCase):
    def setUp(self):
        self.recorder = tw.Recorder()
        self.addCleanup(self.recorder.close)
        # Concurrency 1, 2, 1 over 10 ns each.
        self.recorder.append_columns(start_ns=[0, 10], end_ns=[20, 30])
        self.analysis = tw.analyze(self.recorder, quantiles=[0.123])
        self.addCleanup(self.analysis.close)

    def test_summary(self):
        summary = self.analysis.summary("effective_concurrency")
        self.assertEqual((summary.avg, summary.min, summary.max, summary.weight_ns),
                         (4 / 3, 1, 2, 30))
        self.assertIsNone(summary.count)
        latency = self.analysis.summary("request_latency")
        self.assertEqual((latency.count, latency.std), (2, 0))
        self.assertIsNone(latency.weight_ns)

    def test_not_measured(self):
        self.assertIsNone(self.analysis.summary("time_to_first_token"))
        self.assertIsNone(self.analysis.quantiles("time_to_first_token", [0.5]))
        self.assertIsNone(self.analysis.curve("effective_decode_throughput"))
        self.assertIsNone(self.analysis.series("effective_decode_throughput", 0, 1, 1))
        tags = [metric.tag for metric, _ in self.analysis.summaries()]
        self.assertIn("effective_concurrency", tags)
        self.assertNotIn("time_to_first_token", tags)

    def test_unknown(self):
        with self.assertRaises(KeyError):
            self.analysis.summary("throughput")
        with self.assertRaises(tw.Error) as caught:
            self.analysis.quantiles("effective_concurrency", [1.5])
        self.assertEqual(caught.exception.status, tw.ERR_INVAL)

    def test_quantiles(self):
        # 20 of 30 ns lie at 1.
        values = self.analysis.quantiles("effective_concurrency", [0, 0.66, 0.67, 1])
        self.assertEqual(values.tolist(), [1, 1, 2, 2])

    def test_windows(self):
        with self.analysis.window(10, 20) as window:
            self.assertEqual(window.bounds(), (10, 20))
            self.assertEqual(window.summary("effective_concurrency").avg, 2)
        with tw.analyze([self.recorder], begin_ns=20) as tail:
            self.assertEqual(tail.bounds(), (20, 30))
            self.assertEqual(tail.balance().members, 1)
        with self.assertRaises(tw.Error):
            tw.analyze(self.recorder, begin_ns=31)

    def test_curve(self):
        self.assertEqual(self.analysis.curve("effective_concurrency").tolist(),
                         [(0, 10, 1.0), (10, 20, 2.0), (20, 30, 1.0)])
        bins = self.analysis.series("effective_concurrency", 0, 20, 2)
        self.assertEqual(bins.tolist(), [(0, 20, 1.5, 1.0, 2.0), (20, 10, 1.0, 1.0, 1.0)])

    def test_long_curve(self):
        """More segments than a page holds."""
        with tw.Recorder() as recorder:
            start = np.arange(50_000) * 10
            recorder.append_columns(start_ns=start, end_ns=start + 5)
            with tw.analyze(recorder) as analysis:
                curve = analysis.curve("effective_concurrency")
        self.assertEqual(len(curve), 99_999)
        self.assertTrue((curve["begin_ns"][1:] == curve["end_ns"][:-1]).all())
        self.assertEqual(curve["value"].sum(), 50_000)

    def test_reports(self):
        report = json.loads(self.analysis.report("json", counters={"rows_left_out": 3}))
        self.assertEqual(report["counters"]["rows_left_out"], 3)
        self.assertIn("Effective Concurrency (requests)", self.analysis.report())
        self.assertTrue(self.analysis.report("csv").splitlines()[1:])

    def test_registry(self):
        units = {metric.tag: metric.unit for metric in tw.METRICS}
        self.assertEqual(units["effective_latency"], "ms")
        self.assertEqual(self.analysis.summary(tw.METRICS[0]),
                         self.analysis.summary(tw.METRICS[0].tag))


class Document(unittest.TestCase):
    def test_docstring(self):
        """The code that the module shows runs."""
        code = re.findall(r"^    .*$", tw.__doc__, flags=re.M)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(textwrap.dedent("\n".join(code)), {"timeweight": tw})
        self.assertEqual(printed.getvalue(), "1.0\n")


class Arrow(unittest.TestCase):
    """What needs no engine; test_arrow.py has one."""

    def test_streams_are_given_back(self):
        with tw.Recorder() as recorder:
            recorder.append(0, 10)
            with tw.analyze(recorder) as analysis:
                metrics = analysis.arrow_metrics()
                with self.assertRaises(tw.Error) as caught:
                    analysis.arrow_curve("tokens_in_flight")
                self.assertEqual(caught.exception.status, tw.ERR_NODATA)
                # Not a table of records: taken over, refused with words, released.
                with self.assertRaisesRegex(tw.Error, "start_ns"):
                    recorder.append_arrow(metrics)
            with self.assertRaises(ValueError):
                metrics.__arrow_c_stream__()  # the analysis is closed
            self.assertEqual(len(recorder), 1)
        self.assertEqual(tw._given, {})


class Life(unittest.TestCase):
    def test_closed_twice_and_used(self):
        recorder = tw.Recorder()
        recorder.close()
        recorder.close()
        for use in (lambda: recorder.append(0), lambda: tw.analyze(recorder), recorder.balance):
            with self.assertRaises(ValueError):
                use()

    def test_released_on_every_path(self):
        with self.assertRaises(tw.RecordError):
            with tw.Recorder() as recorder:
                recorder.append(1, 0)
        self.assertFalse(recorder._finalizer.alive)
        forgotten = tw.Recorder()
        finalizer = forgotten._finalizer
        del forgotten
        gc.collect()
        self.assertFalse(finalizer.alive)

    def test_analysis_outlives_recorder(self):
        with tw.Recorder() as recorder:
            recorder.append(0, 10)
            analysis = tw.analyze(recorder)
        with analysis:
            self.assertEqual(analysis.summary("effective_concurrency").avg, 1)

    def test_several_recorders_and_a_clock(self):
        with tw.Recorder() as one, tw.Recorder() as two:
            one.append(0, 10)
            two.append(1000, 1010)
            two.set_clock(-1000)
            with tw.analyze([one, two]) as analysis:
                self.assertEqual(analysis.summary("effective_concurrency").avg, 2)

    def test_threads(self):
        """Analyses are taken while a worker appends."""
        with tw.Recorder() as recorder:
            def work():
                for i in range(20_000):
                    recorder.append(i, i + 1)
            worker = threading.Thread(target=work)
            worker.start()
            seen = 0
            while worker.is_alive():
                with tw.analyze(recorder) as analysis:
                    issued = analysis.balance().issued
                self.assertGreaterEqual(issued, seen)
                seen = issued
            worker.join()
            self.assertEqual(len(recorder), 20_000)

    def test_reserve(self):
        with tw.Recorder() as recorder:
            recorder.reserve(10_000)
            self.assertGreater(recorder.memory(), 10_000 * 48)


if __name__ == "__main__":
    unittest.main()
