# SPDX-License-Identifier: Apache-2.0
"""An experiment: a configuration with overrides, ready to run."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, List, Mapping, Optional, Union

from . import _warploom
from ._report import Report

Overrides = Union[Mapping[str, Any], Iterable[str], None]


def _as_yaml(value: Any) -> str:
    """A value as the command line would write it; text stays as it is, so "64" is a number and "~" removes a key."""
    if value is None:
        return "~"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value))
    return str(value)


def _as_list(overrides: Overrides, prefix: str = "") -> List[str]:
    if overrides is None:
        return []
    if isinstance(overrides, str):
        return [overrides]
    if not isinstance(overrides, Mapping):
        return [str(text) for text in overrides]
    result: List[str] = []
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            result += _as_list(value, f"{prefix}{key}.")
        else:
            result.append(f"{prefix}{key}={_as_yaml(value)}")
    return result


class Experiment:
    """A YAML file, or an experiment of the library by name, with values overridden.

    `overrides` is a dictionary, {"layout.data": 64, "training": {"sequences": 512}}, or a list of texts as on the
    command line, ["layout.data=64"]. Mistakes raise ConfigError or UserError here, before anything runs.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], overrides: Overrides = None):
        self.path = os.fspath(path)
        self.overrides = _as_list(overrides)
        self._experiment = _warploom.Experiment(self.path, self.overrides)

    def run(self, unfold: bool = False, progress: Optional[Callable[[int, int], None]] = None) -> Report:
        """Simulates one step. Other threads run meanwhile; `progress(done, all)` is called now and then."""
        data, text = self._experiment.run(unfold, progress)
        return Report(json.loads(data), text)

    def explain(self) -> str:
        """The resolved configuration as YAML, each line with where it came from."""
        return self._experiment.explain()

    def __repr__(self) -> str:
        overrides = f", {self.overrides!r}" if self.overrides else ""
        return f"Experiment({self.path!r}{overrides})"


def load(path: Union[str, "os.PathLike[str]"], overrides: Overrides = None) -> Experiment:
    """The same as Experiment(path, overrides)."""
    return Experiment(path, overrides)
