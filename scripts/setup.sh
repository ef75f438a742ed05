#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the named sections of apt-packages.txt (default: build). Does nothing, quickly, when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

sections=("${@:-build}")

# Package names of one section; an unknown section is a mistake of the caller.
packages_of() {
  grep -qx "\[$1\]" apt-packages.txt || { echo "setup: no section [$1] in apt-packages.txt" >&2; return 1; }
  awk -v want="[$1]" '/^\[/ {on = ($1 == want); next} on && NF && $1 !~ /^#/ {print $1}' apt-packages.txt
}

wanted=()
for section in "${sections[@]}"; do
  list=$(packages_of "$section")
  mapfile -t -O "${#wanted[@]}" wanted <<<"$list"
done

missing=()
# dpkg-query fails when it does not know a name: that is an answer, not an error.
installed=" $({ dpkg-query -W -f '${db:Status-Status}=${Package}\n' "${wanted[@]}" 2>/dev/null || true; } \
              | sed -n 's/^installed=//p' | tr '\n' ' ') "
for package in "${wanted[@]}"; do
  # A Node.js from elsewhere is as good, and Debian's npm would conflict with it.
  if [[ $package == npm ]] && npm --version >/dev/null 2>&1; then
    continue
  fi
  [[ $installed == *" $package "* ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

command -v apt-get >/dev/null || { echo "setup: this needs Debian's apt-get; missing: ${missing[*]}" >&2; exit 1; }
as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "setup: run as root or install sudo; missing: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "${missing[@]}" >/dev/null
