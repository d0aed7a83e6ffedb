#!/bin/sh
# SPDX-License-Identifier: MIT
# Three runs that do not go well: failures, a run that is cut, a server that dies. Each time the
# balance sheet adds up, the records file is complete, and the exit status is 3.
#     sh examples/demo-trouble.sh
set -eu
. "$(dirname "$0")/demo.sh"

show() {
    sed -n '/^Records:/,/^ /p; /^Not successful:/,$p' "$work/out"
    echo "exit status: $status; rows in the records file: $(wc -l <"$work/run.jsonl")"
    [ "$status" = 3 ] || exit 1
}

echo "== Some requests fail: HTTP errors, errors inside streams, broken connections"
start_server --ttft 20 --itl 2 --error-rate 0.1 --stream-error-rate 0.1 --abort-rate 0.1
run_load --concurrency 8 --request-count 100 --output-tokens 10 --records "$work/run.jsonl"
show
stop_server

echo
echo "== The run is cut while requests are in flight"
start_server --ttft 100 --itl 20
run_load --concurrency 8 --duration 2 --grace 0.5 --output-tokens 60 --records "$work/run.jsonl"
show
stop_server

echo
echo "== The server dies"
start_server --ttft 20 --itl 2
victim=$server
(sleep 1 && kill -KILL "$victim") &
run_load --concurrency 4 --duration 2 --output-tokens 10 --records "$work/run.jsonl"
server=
show
