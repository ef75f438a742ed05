#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The golden runner notices every kind of difference, and `--update` repairs all but the exit code."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import run_golden  # noqa: E402

GOOD = """# Copies a file.
--- file deep/a.txt
first
--- hex b.bin
00 ff
--- run
cat deep/a.txt; wc -c < b.bin; pwd; echo "oops" >&2; exit 3
--- exit 3
--- stdout
first
2
$HERE
--- stderr
oops
"""
BROKEN = {
    "exit code": ("--- exit 3", "--- exit 0"),
    "standard output": ("first\n2\n", "first\n3\n"),
    "standard error": ("--- stderr\noops\n", ""),
    "missing output": ("--- stdout\nfirst\n2\n$HERE\n", ""),
    "a newline": ("$HERE\n---", "$HERE\n\n---"),
}
NO_CASES = {"no section": "# Only words.\n", "no command": "--- exit 0\n", "unknown section": "--- run\ntrue\n--- sdtout\n"}


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        case = Path(name) / "case.txt"

        def problems(text, update=False):
            case.write_text(text, encoding="utf-8")
            return run_golden.check(case, "/bin/true", update)

        if found := problems(GOOD):
            failures.append(f"a good case fails: {found}")
        for what, (old, new) in BROKEN.items():
            assert old in GOOD, what
            broken = GOOD.replace(old, new, 1)
            if not problems(broken):
                failures.append(f"a wrong {what} passes")
            problems(broken, update=True)
            wanted = broken if what == "exit code" else GOOD  # never written down by itself
            if case.read_text(encoding="utf-8") != wanted:
                failures.append(f"--update does not repair {what}")
        for what, text in NO_CASES.items():
            try:
                problems(text)
                failures.append(f"{what} passes")
            except run_golden.BadCase:
                pass
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
