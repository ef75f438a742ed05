# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, and whose mistake it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, List, Tuple


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a configuration."""

    file: str  # "command line" for an override, empty when unknown
    line: int  # from 1; 0 when there is none
    column: int
    path: str  # the key, such as "layout.data"
    message: str
    hint: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: " if self.file else ""
        key = f"`{self.path}`: " if self.path else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{where}error: {key}{self.message}{hint}"


class UserError(ValueError):
    """A mistake in a file, a value or a call: str() says where, what was expected and what to do."""

    def __init__(self, text: str, message: str = "", hint: str = ""):
        super().__init__(text)
        self.message = message or text
        self.hint = hint


class ConfigError(UserError):
    """All the mistakes of a configuration at once."""

    def __init__(
        self,
        text: str,
        message: str = "",
        hint: str = "",
        diagnostics: Iterable[Tuple[str, int, int, str, str, str]] = (),
    ):
        super().__init__(text, message, hint)
        self.diagnostics: List[Diagnostic] = [Diagnostic(*fields) for fields in diagnostics]


class InternalError(RuntimeError):
    """A bug in warploom."""
