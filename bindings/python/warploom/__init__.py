# SPDX-License-Identifier: Apache-2.0
"""Predicts how long AI training takes on hardware you do not have, and says where the time goes.

>>> import warploom
>>> report = warploom.Experiment("llama3_405b_16k_h100", {"training.recompute": "full"}).run()
>>> report.step_time_s, report.mfu, report.breakdown["bubble"]
"""

from ._errors import ConfigError, Diagnostic, InternalError, UserError
from ._experiment import Experiment, load
from ._report import Report, read_report
from ._traces import CapturedRun, TraceReport, inspect, replay
from ._warploom import version as _version

__version__: str = _version()

__all__ = [
    "CapturedRun",
    "ConfigError",
    "Diagnostic",
    "Experiment",
    "InternalError",
    "Report",
    "TraceReport",
    "UserError",
    "inspect",
    "load",
    "read_report",
    "replay",
]
