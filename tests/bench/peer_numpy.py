#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The usual way in Python: vectorised sweep lines with numpy in float64. Each curve is
sorted and summed up by itself, curves are combined on the union of their times, and each
metric sorts its values.

    peer_numpy.py COLUMNS
"""

import numpy as np

from serve import serve

SECOND = 1e9  # in ns
SNAP = 1e-9  # of the peak: what is smaller is a rounding error of a sum that is zero
QUANTILES = np.array([0.5, 0.9, 0.95, 0.99])


def sum_up(times, amounts):
    """A step function (times, values from there on) of what is added at each time. What is
    taken off at an instant goes first."""
    order = np.lexsort((amounts > 0, times))
    values = np.cumsum(amounts[order])
    values[np.abs(values) < SNAP * np.max(np.abs(values), initial=0.0)] = 0.0
    return times[order], values


def intervals(begin, end, amount):
    """What is added and taken off by amounts that last from begin to end."""
    lasting = end > begin
    begin, end, amount = begin[lasting], end[lasting], amount[lasting]
    return np.concatenate([begin, end]), np.concatenate([amount, -amount])


def rates(begin, end, tokens):
    with np.errstate(divide="ignore", invalid="ignore"):
        return intervals(begin, end, tokens / (end - begin))


def value_at(curve, times):
    """The curve's values at times; 0 before it begins."""
    place = np.searchsorted(curve[0], times, side="right") - 1
    return np.where(place >= 0, curve[1][np.maximum(place, 0)], 0.0)


def per_user(rate, users):
    times = np.unique(np.concatenate([rate[0], users[0]]))
    among = value_at(users, times)
    quotient = np.zeros_like(among)
    np.divide(value_at(rate, times), among, out=quotient, where=among > 0)
    return times, quotient


def statistics(values, durations):
    total = durations.sum()
    average = np.dot(values, durations) / total
    deviation = np.sqrt(np.dot(durations, (values - average) ** 2) / total)
    order = np.argsort(values)
    shares = np.cumsum(durations[order])
    places = np.searchsorted(shares / shares[-1], QUANTILES)
    quantiles = values[order[np.minimum(places, len(order) - 1)]]
    return np.array([average, values.min(), values.max(), deviation, *quantiles])


def effective(curve, begin, end):
    edges = np.concatenate([[begin], curve[0], [end]])
    durations = np.diff(edges)
    lasting = durations > 0
    return statistics(np.concatenate([[0.0], curve[1]])[lasting], durations[lasting])


def active(curve, mask, begin, end):
    edges = np.unique(np.concatenate([[begin, end], curve[0], mask[0]]))
    durations = np.diff(edges)
    on = value_at(mask, edges[:-1]) > 0
    return statistics(value_at(curve, edges[:-1])[on], durations[on])


def compute(start, first, end, inputs, outputs):
    run = start.min(), end.max()
    one = np.ones_like(start)
    users = sum_up(*intervals(start, end, one))
    decoding = sum_up(*intervals(first, end, one))
    prefilling = sum_up(*intervals(start, first, one))
    decode_events = rates(first, end, outputs - 1)
    prefill_events = rates(start, first, inputs)
    decode = sum_up(*decode_events)
    prefill = sum_up(*prefill_events)
    total = sum_up(*(np.concatenate(both) for both in zip(prefill_events, decode_events)))
    in_flight = sum_up(np.concatenate([start, first, end]),
                       np.concatenate([inputs, outputs, -(inputs + outputs)]))
    decode_per_user = per_user(decode, decoding)
    prefill_per_user = per_user(prefill, prefilling)
    return {
        "effective_concurrency": effective(users, *run),
        "effective_decode_throughput": effective(decode, *run) * SECOND,
        "effective_prefill_throughput": effective(prefill, *run) * SECOND,
        "effective_decode_concurrency": effective(decoding, *run),
        "effective_prefill_concurrency": effective(prefilling, *run),
        "effective_total_throughput": effective(total, *run) * SECOND,
        "effective_decode_throughput_per_user": effective(decode_per_user, *run) * SECOND,
        "effective_prefill_throughput_per_user": effective(prefill_per_user, *run) * SECOND,
        "tokens_in_flight": effective(in_flight, *run),
        "active_decode_throughput": active(decode, decoding, *run) * SECOND,
        "active_prefill_throughput": active(prefill, prefilling, *run) * SECOND,
        "active_decode_throughput_per_user":
            active(decode_per_user, decoding, *run) * SECOND,
        "active_prefill_throughput_per_user":
            active(prefill_per_user, prefilling, *run) * SECOND,
        "active_total_throughput": active(total, users, *run) * SECOND,
    }


if __name__ == "__main__":
    serve(compute, f"numpy {np.__version__}")
