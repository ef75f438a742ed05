# SPDX-License-Identifier: Apache-2.0
"""Captured traces: what a step did, and what it would take elsewhere."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Iterable, List, Mapping, Optional, Union

from . import _warploom
from ._experiment import Overrides, _as_list

Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]


def _paths(traces: Paths) -> List[str]:
    if isinstance(traces, (str, os.PathLike)):
        return [os.fspath(traces)]
    return [os.fspath(path) for path in traces]


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
        try:
            import pandas
        except ImportError:
            return self.data["ranks"]
        return pandas.DataFrame(self.data["ranks"])

    @property
    def predicted(self) -> Optional[Mapping[str, Any]]:
        """The prediction, where one was asked for: `span_us`, `speed_up`, `error_band`, `steps`, `causes_s`, ..."""
        return self.data.get("predicted")


def inspect(traces: Paths, strict: bool = False, recorded_only: bool = False) -> TraceReport:
    """Reads traces of one run (files, folders; one capture a rank) and says where the time of their steps went."""
    data, text = _warploom.inspect(_paths(traces), strict, recorded_only)
    return TraceReport(json.loads(data), text)


def replay(
    traces: Paths,
    on: Optional[str] = None,
    overrides: Overrides = None,
    what_if: Union[str, "os.PathLike[str]", Mapping[str, Any], None] = None,
    source: Optional[str] = None,
    ranks: int = 0,
    strict: bool = False,
    recorded_only: bool = False,
    progress: Optional[Callable[[int, int], None]] = None,
) -> TraceReport:
    """Plays a captured run as it was and, with `on`, `overrides`, `ranks` or `what_if`, predicts it elsewhere.

    `on` is a cluster of the library or a file, `what_if` a file of edits or a dictionary like one,
    {"scale": [{"kernels": "*gemm*", "by": 0.5}], "host": {"scale": 0.8}}.
    """
    arguments = (_paths(traces), on or "", _as_list(overrides), source or "", ranks)
    if not isinstance(what_if, Mapping):
        edits = os.fspath(what_if) if what_if is not None else ""
        data, text = _warploom.replay(*arguments, edits, strict, recorded_only, progress)
        return TraceReport(json.loads(data), text)
    with tempfile.TemporaryDirectory() as folder:
        edits = os.path.join(folder, "what_if.yaml")
        with open(edits, "w", encoding="utf-8") as file:
            json.dump(what_if, file)  # JSON is YAML
        data, text = _warploom.replay(*arguments, edits, strict, recorded_only, progress)
    return TraceReport(json.loads(data), text)
