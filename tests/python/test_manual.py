# SPDX-License-Identifier: Apache-2.0
"""The manual of the command names every command and option that there is, and no other."""

import re
import subprocess
from pathlib import Path

MANUAL = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text(encoding="utf-8")


def help_of(binary, *command):
    return subprocess.run([binary, *command, "--help"], check=True, capture_output=True, text=True).stdout


def test_the_manual_has_every_command_and_option(warploom_binary):
    commands = re.findall(r"^  (\w+)  ", help_of(warploom_binary).split("Options:")[0], re.M)
    sections = dict(re.findall(r"^## `warploom (\w+).*?`\n(.*?)(?=^## |\Z)", MANUAL, re.M | re.S))
    assert list(sections) == commands
    for command in commands:
        text = help_of(warploom_binary, command)
        kinds = re.findall(r"^  (\w+)  ", text.split("Commands:")[1].split("Options:")[0], re.M) if "Commands:" in text else []
        text += "".join(help_of(warploom_binary, command, kind) for kind in kinds)
        options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M)) - {"--help"}
        if kinds:  # those of single kinds are named by their help
            options &= set(re.findall(r"--[\w-]+", sections[command]))
        assert options <= set(re.findall(r"--[\w-]+", sections[command])), command
        tabled = set(re.findall(r"^\| `(--[\w-]+)", sections[command], re.M))
        assert tabled <= options, command


def test_every_kind_of_schema_is_in_the_manual(warploom_binary):
    kinds = re.search(r"KIND  .*?: ([\w,\s]+?)\n\n", help_of(warploom_binary, "schema"), re.S)[1]
    for kind in re.split(r",\s+", kinds):
        assert f"`{kind}`" in MANUAL
