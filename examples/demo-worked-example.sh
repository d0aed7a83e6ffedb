#!/bin/sh
# SPDX-License-Identifier: MIT
# The worked example of AIPerf's brief on effective and active metrics, against the mock server in
# real time: 16 users, 200 requests of 200 tokens, 100 tokens back, 100 ms to the first token, 20 ms
# between tokens. FASTER (1 by default) divides all times.
#     sh examples/demo-worked-example.sh [FASTER]
set -eu
faster=${1:-1}
. "$(dirname "$0")/demo.sh"

start_server --ttft "$(awk "BEGIN { print 100 / $faster }")" \
    --itl "$(awk "BEGIN { print 20 / $faster }")"
run_load --concurrency 16 --request-count 200 --input-tokens 200 --output-tokens 100 \
    --records "$work/run.jsonl"
cat "$work/out"
stop_server
[ "$status" = 0 ] || exit "$status"
"$timeweight" report --format=csv "$work/run.jsonl" >"$work/csv"

echo
printf '%-31s %12s %12s\n' "average" "brief" "this run"
# Rates go up, and times go down.
while read -r tag brief power; do
    brief=$(awk "BEGIN { printf \"%.2f\", $brief * $faster ^ $power }")
    printf '%-31s %12s %12.2f\n' "$tag" "$brief" "$(number "$tag" avg)"
done <<EOF
benchmark_duration 27.06 -1
effective_decode_concurrency 14.63 0
effective_prefill_concurrency 0.75 0
effective_decode_throughput 726.33 1
effective_prefill_throughput 1477.97 1
active_decode_throughput 754.96 1
active_prefill_throughput 28140.81 1
effective_latency 2081.00 -1
request_latency 2081.00 -1
EOF
echo
echo "Decode throughput is 0.7 % above the brief's because here each response has 100 tokens, not"
echo "99.28: (100 - 1) * 200 / duration. The rest is the jitter of this machine and of the brief's, and"
echo "AIPerf's clock (doc/from-aiperf.md)."
