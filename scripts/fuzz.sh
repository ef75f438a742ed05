#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every libFuzzer target of a build folder for a bounded time, from the seeds in tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/fuzz}
seconds=${2:-20}
shopt -s nullglob
targets=("$build"/fuzz/fuzz_*)
[[ ${#targets[@]} -gt 0 ]] || { echo "fuzz: no targets in $build/fuzz" >&2; exit 1; }
for target in "${targets[@]}"; do
  name=$(basename "$target")
  found="$build/corpus/${name#fuzz_}"   # what the fuzzer finds stays out of the repository
  seeds="tests/fuzz/corpus/${name#fuzz_}"
  mkdir -p "$found" "$build/crashes"
  [[ -d $seeds ]] || { echo "fuzz: $name has no seeds in $seeds" >&2; exit 1; }
  echo "fuzz: $name for $seconds s"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
            -artifact_prefix="$build/crashes/$name-" "$found" "$seeds"
done
echo "fuzz: ${#targets[@]} targets ok"
