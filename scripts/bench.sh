#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every benchmark program of a build folder, keeps the results as JSON, and fails when one of them fails.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
mkdir -p build/bench
status=0
shopt -s nullglob
for program in "$build"/bench/bench_*; do
  name=$(basename "$program")
  "$program" --benchmark_out="build/bench/$name.json" --benchmark_out_format=json || { echo "$name failed" >&2; status=1; }
done
exit $status
