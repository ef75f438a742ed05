#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a temporary prefix and runs what it finds there, away from the source tree.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
experiment=$PWD/${2:-configs/experiments/llama3_405b_16k_h100.yaml}
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null

# The experiment that is installed, in a place where no source tree is near.
cd "$prefix"
installed="share/warploom/configs/${experiment#*/configs/}"
[[ -f $installed ]] || { echo "install: $installed is missing" >&2; exit 1; }
bin/warploom --version
bin/warploom run "$installed" --json >report.json
/usr/bin/python3 -c 'import json; print("install: step", json.load(open("report.json"))["step_time_s"], "s")'
PYTHONPATH=$(echo "$prefix"/lib/python3*/dist-packages) /usr/bin/python3 -c 'import warploom; print("install: imported", warploom.__file__)'
