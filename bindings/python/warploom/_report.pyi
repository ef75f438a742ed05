# SPDX-License-Identifier: Apache-2.0
"""Types of the report; the keys of its JSON are attributes."""

import os
from typing import Any, Dict, List, Optional, Union

import pandas

class Report:
    schema: str
    version: str
    config_hash: str
    seed: int
    name: str
    model: str
    machine: str
    devices: int
    folding: str
    step_time_s: float
    tokens_per_s: float
    tokens_per_s_per_device: float
    tflops_per_device: float
    flop_convention: str
    mfu: float
    hfu: float
    bubble_share: float
    bubble_over_ideal: float
    exposed_comm_share: float
    roles: List[Dict[str, Any]]
    memory: List[Dict[str, Any]]
    fits: bool
    critical_path: Dict[str, Any]
    assumptions: List[str]
    fallbacks: List[str]
    warnings: List[str]
    simulator: Dict[str, Any]

    def __init__(self, data: Dict[str, Any], text: Optional[str] = ...) -> None: ...
    @property
    def breakdown(self) -> Dict[str, float]: ...
    @property
    def text(self) -> str: ...
    def to_dict(self) -> Dict[str, Any]: ...
    def to_json(self, indent: Optional[int] = ...) -> str: ...
    def breakdown_frame(self, by_role: bool = ...) -> pandas.DataFrame: ...
    def memory_frame(self) -> pandas.DataFrame: ...
    def _repr_html_(self) -> str: ...

def read_report(path: Union[str, os.PathLike[str]]) -> Report: ...
