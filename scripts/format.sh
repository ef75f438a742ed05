#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats our C++ files with clang-format-19; with --check, only says what is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run -Werror)
fi
folders=()
for folder in sim hw_models network traces workloads bindings tests; do
  if [[ -d $folder ]]; then
    folders+=("$folder")
  fi
done
find "${folders[@]}" \( -name '*.cpp' -o -name '*.hpp' \) -print0 \
  | xargs -0 -r -n 20 -P "$(nproc)" clang-format-19 --style=file "${mode[@]}"
