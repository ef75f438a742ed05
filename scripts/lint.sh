#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy-19 over our sources with the compile commands of a build folder.
#   lint.sh [BUILD] [PATTERN]    PATTERN: only files whose path matches this regular expression
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
pattern=${2:-}
folders="(sim|hw_models|network|traces|workloads|bindings|tests)"
# g++ is the compiler whose warnings count: clang's own (libstdc++ 12 included) are not errors here.
# No file at all is an error (sed's q1). The count of suppressed warnings is about other people's headers.
run-clang-tidy-19 -quiet -p "$build" -j "$(nproc)" -extra-arg=-Wno-error -header-filter="^$PWD/$folders/" \
                  "^(?=.*$pattern)$PWD/$folders/.*\.cpp$" 2>&1 \
  | sed -u -E -e '/^[0-9]+ warnings? generated/d' -e '/^$/d' -e '/^Running clang-tidy for 0 files/q1' \
    -e "s#^(\[ *[0-9]+/[0-9]+\]).* $PWD/#\1 #"
echo "lint: clang-tidy ok"
