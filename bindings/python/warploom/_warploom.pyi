# SPDX-License-Identifier: Apache-2.0
"""The compiled part; use `warploom`, which wraps it."""

from typing import Callable, List, Optional, Tuple

def version() -> str: ...
def inspect(paths: List[str], strict: bool, recorded_only: bool) -> Tuple[str, str]: ...
def replay(
    paths: List[str],
    on: str,
    overrides: List[str],
    source: str,
    ranks: int,
    what_if: str,
    strict: bool,
    recorded_only: bool,
    progress: Optional[Callable[[int, int], None]],
) -> Tuple[str, str]: ...

class Experiment:
    def __init__(self, path: str, overrides: List[str]) -> None: ...
    def explain(self) -> str: ...
    def run(self, unfold: bool, progress: Optional[Callable[[int, int], None]]) -> Tuple[str, str]: ...
