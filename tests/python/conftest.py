# SPDX-License-Identifier: Apache-2.0
"""Where the command under test lies: beside the package that is imported."""

import os
from pathlib import Path

import pytest
import warploom


@pytest.fixture(scope="session")
def warploom_binary():
    beside = Path(warploom.__file__).parents[2] / "bin" / "warploom"
    return os.environ.get("WARPLOOM_BINARY", str(beside))


@pytest.fixture(scope="session")
def small_report():
    return warploom.Experiment("experiments/llama3_8b_8_h100").run()
