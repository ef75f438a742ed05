#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden cases: text files of files, commands and what they must print.

    run_golden.py [--update] CASE.txt ...     WARPLOOM_BINARY names the command under test

A case starts with what it shows, then has sections, each with a line `--- kind argument` above its content:

    # An unknown key is an error that names the nearest key.
    --- file bad.yaml           a file in the empty folder that the commands run in
    --- hex garbage.yaml        the same, its bytes in hexadecimal
    --- run                     commands for bash, `warploom` among them
    --- exit 2                  the exit code of the last command
    --- stdout                  what must be printed; a section that is not there stands for nothing printed
    --- stderr

What differs between machines is replaced before comparing: the folder by $HERE, the repository by $REPO, the cost of
simulating by <cost>. `--update` rewrites stdout and stderr to what came; an exit code is changed by hand, so that a tree
that happens to be broken is not written down as what is wanted.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED = ("exit", "stdout", "stderr")
KINDS = ("file", "hex", "run", *EXPECTED)
HEADER = re.compile(r"^--- (\w+)(?: (.*))?$", re.M)
TIMEOUT_S = 120
# What the simulation cost: the text's last line, the JSON's `simulator`, the progress line.
COSTS = (
    (re.compile(r"(Simulated .* events), .*\."), r"\1, <cost>."),
    (re.compile(r'("wall_s"|"peak_rss_bytes"): [\d.e+-]+'), r"\1: <cost>"),
    (re.compile(r"(operations), [\d.]+ s$", re.M), r"\1, <cost>"),
)


class BadCase(Exception):
    """The case itself is wrong."""


def parse(text):
    """The head (what is shown) and the sections as [kind, argument, content]."""
    headers = list(HEADER.finditer(text))
    if not headers:
        raise BadCase("there is no section")
    sections = []
    for header, following in zip(headers, [*headers[1:], None]):
        content = text[header.end() + 1 : following.start() if following else len(text)]
        if header[1] not in KINDS:
            raise BadCase(f"unknown section `{header[1]}`")
        sections.append([header[1], header[2] or "", content])
    if sum(kind == "run" for kind, _, _ in sections) != 1:
        raise BadCase("expected one section `run`")
    return text[: headers[0].start()], sections


def normal(text, folder):
    text = text.replace(os.path.realpath(folder), "$HERE").replace(str(folder), "$HERE")
    text = text.replace(str(REPOSITORY), "$REPO")
    for pattern, replacement in COSTS:
        text = pattern.sub(replacement, text)
    return text


def run(sections, binary):
    """What came: {exit, stdout, stderr}."""
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        for kind, argument, content in sections:
            if kind not in ("file", "hex"):
                continue
            path = folder / argument
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes.fromhex(content) if kind == "hex" else content.encode())
        commands = next(content for kind, _, content in sections if kind == "run")
        environment = {
            "PATH": f"{Path(binary).parent}:/usr/bin:/bin",
            "HOME": name,
            "LC_ALL": "C.UTF-8",
            "WARPLOOM_CONFIGS": str(REPOSITORY / "configs"),
            # Sanitizer builds: the choice of the caller counts.
            **{key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")},
        }
        done = subprocess.run(
            ["bash", "-c", commands],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return {
            "exit": str(done.returncode),
            "stdout": normal(done.stdout.decode(errors="replace"), folder),
            "stderr": normal(done.stderr.decode(errors="replace"), folder),
        }


def expectations(sections):
    expected = {"exit": "0", "stdout": "", "stderr": ""}
    for kind, argument, content in sections:
        if kind in EXPECTED:
            expected[kind] = argument if kind == "exit" else content
    return expected


def differences(expected, came):
    """Lines that say what differs; none when all is as it should be."""
    lines = []
    for what in EXPECTED:
        if expected[what] == came[what]:
            continue
        if what == "exit":
            lines.append(f"exit: expected {expected[what]}, got {came[what]}")
            continue
        lines += difflib.unified_diff(
            expected[what].splitlines(), came[what].splitlines(), f"{what} (expected)", f"{what} (came)", lineterm=""
        )
    return lines


def rewritten(head, sections, came):
    text = head
    for kind, argument, content in sections:
        if kind not in EXPECTED:
            text += f"--- {kind} {argument}".rstrip() + "\n" + content
    text += f"--- exit {came['exit']}\n"
    for what in ("stdout", "stderr"):
        if came[what]:
            text += f"--- {what}\n" + came[what]
    return text


def check(path, binary, update):
    """Lines that say what is wrong with a case."""
    head, sections = parse(path.read_text(encoding="utf-8"))
    came = run(sections, binary)
    found = differences(expectations(sections), came)
    if found and update and came["exit"] == expectations(sections)["exit"]:
        path.write_text(rewritten(head, sections, came), encoding="utf-8")
        print(f"{path.name}: rewritten")
        return []
    return found


def main(arguments):
    update = "--update" in arguments
    paths = [Path(argument) for argument in arguments if argument != "--update"]
    binary = os.environ.get("WARPLOOM_BINARY", str(REPOSITORY / "build/release/bin/warploom"))
    if not os.access(binary, os.X_OK):
        print(f"golden: there is no command {binary}: build it, or name one by WARPLOOM_BINARY")
        return 2
    if not paths:
        paths = sorted((Path(__file__).parent / "cases").rglob("*.txt"))
    failed = 0
    for path in paths:
        try:
            problems = check(path, binary, update)
        except (BadCase, subprocess.TimeoutExpired, ValueError) as error:
            problems = [str(error)]
        failed += bool(problems)
        for line in problems:
            print(f"{path.name}: {line}")
    print(f"golden: {len(paths) - failed} of {len(paths)} as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
