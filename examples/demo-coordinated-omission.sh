#!/bin/sh
# SPDX-License-Identifier: MIT
# A server stands still for two seconds, and the usual latency does not notice. 100 requests a second
# are due for 12 seconds; each takes some 40 ms, and at most 8 are in flight.
#     sh examples/demo-coordinated-omission.sh
set -eu
. "$(dirname "$0")/demo.sh"

start_server --ttft 20 --itl 2 --stall-at 4 --stall 2
run_load --request-rate 100 --arrivals constant --concurrency 8 --request-count 1200 \
    --input-tokens 50 --output-tokens 11 --timeline 0.5 --records "$work/run.jsonl"
cat "$work/out"
stop_server
[ "$status" = 0 ] || exit "$status"
"$timeweight" report --format=csv "$work/run.jsonl" >"$work/csv"

cat <<EOF

                                             p50          p99          max
request_latency    (start to end)   $(printf '%8.1f ms  %8.1f ms  %8.1f ms' \
    "$(number request_latency p50)" "$(number request_latency p99)" \
    "$(number request_latency max)")
effective_latency  (due to end)     $(printf '%8.1f ms  %8.1f ms  %8.1f ms' \
    "$(number effective_latency p50)" "$(number effective_latency p99)" \
    "$(number effective_latency max)")

The server stood still for two seconds. Only the 8 requests that were in flight then were slow by
their own clock: fewer than one in a hundred of the 1,200, so the p99 of request_latency looks as
if nothing had happened. But 100 requests a second went on being due. They waited for a free slot
(the queue in the table above: some 200 of them at the end), and when they were sent at last the
clock of request_latency had not even started. That is coordinated omission: the generator waits
together with the server, and leaves out just the requests that suffer. effective_latency counts
from the moment a request was due, and shows the seconds that users waited.
EOF
