# SPDX-License-Identifier: Apache-2.0
"""Captured traces: what a step did, and what it would take elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any, Callable, Iterable, Iterator, List, Mapping, Optional, Union

from . import _warploom
from ._experiment import Overrides, _as_list

WhatIf = Union[str, "os.PathLike[str]", Mapping[str, Any], None]
Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]


def _paths(traces: Paths) -> List[str]:
    if isinstance(traces, (str, os.PathLike)):
        return [os.fspath(traces)]
    return [os.fspath(path) for path in traces]


def _table(rows: List[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame where pandas is there."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


@contextlib.contextmanager
def _edits_file(what_if: WhatIf) -> Iterator[str]:
    if not isinstance(what_if, Mapping):
        yield os.fspath(what_if) if what_if is not None else ""
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "what_if.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(what_if, file)  # JSON is YAML
        yield path


class TraceReport:
    """What `warploom inspect` or `warploom replay` says of traces: `data` as its --json, `str()` as its text."""

    def __init__(self, data: Mapping[str, Any], text: str):
        self.data = data
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def keys(self) -> Any:
        return self.data.keys()

    @property
    def self_replay_error(self) -> float:
        """The largest relative error of a rank's span when the run is replayed unchanged."""
        return float(self.data["self_replay_error"])

    @property
    def ranks(self) -> Any:
        """One row a rank: measured and replayed spans, errors of starts (a pandas DataFrame where pandas is there)."""
        return _table(self.data["ranks"])

    @property
    def kernels(self) -> Any:
        """One row a kernel's name with its time as measured and as predicted; None where nothing was predicted."""
        predicted = self.predicted
        return _table(predicted["kernels"]) if predicted else None

    @property
    def predicted(self) -> Optional[Mapping[str, Any]]:
        """The prediction, where one was asked for: `span_us`, `speed_up`, `error_band`, `steps`, `causes_s`, ..."""
        return self.data.get("predicted")


class CapturedRun:
    """Traces of one run (files, folders; one capture a rank), read once and asked as often as wanted.

    >>> run = warploom.CapturedRun("traces/")
    >>> {on: run.replay(on=on).predicted["span_us"] for on in ("dgx_h100", "dgx_h200", "dgx_b200")}

    `strict` makes what would be repaired an error; `recorded_only` infers no dependencies between streams and threads.
    `progress(done, all)` is called now and then with bytes read (all: 0 where it is not known).
    """

    def __init__(
        self,
        traces: Paths,
        strict: bool = False,
        recorded_only: bool = False,
        progress: Optional[Callable[[int, int], None]] = None,
    ):
        self._run = _warploom.CapturedRun(_paths(traces), strict, recorded_only, progress)

    def inspect(self) -> TraceReport:
        """Where the time of its steps went."""
        data, text = self._run.inspect()
        return TraceReport(json.loads(data), text)

    def replay(
        self,
        on: Optional[str] = None,
        overrides: Overrides = None,
        what_if: WhatIf = None,
        source: Optional[str] = None,
        ranks: int = 0,
        progress: Optional[Callable[[int, int], None]] = None,
    ) -> TraceReport:
        """Plays it as it was and, with `on`, `overrides`, `ranks` or `what_if`, predicts it elsewhere.

        `on` is a cluster of the library or a file, `what_if` a file of edits or a dictionary like one,
        {"scale": [{"kernels": "*gemm*", "by": 0.5}], "host": {"scale": 0.8}}. `progress(done, all)` counts operations.
        """
        with _edits_file(what_if) as edits:
            data, text = self._run.replay(on or "", _as_list(overrides), source or "", ranks, edits, progress)
        return TraceReport(json.loads(data), text)


def inspect(traces: Paths, strict: bool = False, recorded_only: bool = False) -> TraceReport:
    """`CapturedRun(traces, ...).inspect()`: reads traces of one run and says where the time of their steps went."""
    return CapturedRun(traces, strict, recorded_only).inspect()


def replay(
    traces: Paths,
    on: Optional[str] = None,
    overrides: Overrides = None,
    what_if: WhatIf = None,
    source: Optional[str] = None,
    ranks: int = 0,
    strict: bool = False,
    recorded_only: bool = False,
    progress: Optional[Callable[[int, int], None]] = None,
) -> TraceReport:
    """`CapturedRun(traces, ...).replay(...)`: plays a captured run as it was and predicts it elsewhere."""
    run = CapturedRun(traces, strict, recorded_only)
    return run.replay(on, overrides, what_if, source, ranks, progress)
