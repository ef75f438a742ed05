# SPDX-License-Identifier: Apache-2.0
"""The answer: the report's JSON with attributes, tables and a short look for notebooks."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from ._errors import UserError

if TYPE_CHECKING:
    import pandas

_SCHEMA = "warploom.report/1"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("tables need pandas: apt install python3-pandas") from error
    return pandas


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def _seconds_by_cause(breakdown: List[Dict[str, Any]]) -> Dict[str, float]:
    return {entry["cause"]: entry["seconds"] for entry in breakdown}


class Report:
    """Every key of the JSON contract (docs/reference/json.md) is an attribute; `breakdown` is {cause: seconds}."""

    def __init__(self, data: Dict[str, Any], text: Optional[str] = None):
        self._data = data
        self._text = text

    # ---- What there is ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        data = self.__dict__.get("_data", {})
        if name in data:
            return data[name]
        raise AttributeError(f"the report has no {name!r}; it has {', '.join(data)}")

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._data})

    @property
    def breakdown(self) -> Dict[str, float]:
        """Seconds by cause, mean over devices; they add up to the step."""
        return _seconds_by_cause(self._data["breakdown"])

    @property
    def text(self) -> str:
        """The report for people, as the command prints it; a summary where it was read from JSON alone."""
        return self._text if self._text is not None else repr(self)

    def to_dict(self) -> Dict[str, Any]:
        """A copy of the JSON object."""
        return json.loads(json.dumps(self._data))

    def to_json(self, indent: Optional[int] = 2) -> str:
        return json.dumps(self._data, indent=indent)

    # ---- Tables ----------------------------------------------------------------------------------------------------

    def breakdown_frame(self, by_role: bool = False) -> "pandas.DataFrame":
        """Rows are causes, columns seconds and share; with `by_role` rows are roles, columns seconds by cause."""
        pandas = _pandas()
        if not by_role:
            frame = pandas.DataFrame(self._data["breakdown"], columns=["cause", "seconds", "share"])
            return frame.set_index("cause")
        rows = {role["name"]: _seconds_by_cause(role["breakdown"]) for role in self._data["roles"]}
        frame = pandas.DataFrame.from_dict(rows, orient="index").fillna(0.0)
        frame.insert(0, "devices", [role["devices"] for role in self._data["roles"]])
        return frame.rename_axis("role")

    def memory_frame(self) -> "pandas.DataFrame":
        """Rows are roles, columns bytes by part at the moment of the peak, the peak, the capacity and whether it fits."""
        pandas = _pandas()
        rows = []
        for role in self._data["memory"]:
            rest = {key: value for key, value in role.items() if key != "parts"}
            rows.append({"role": rest.pop("role"), **role["parts"], **rest})
        return pandas.DataFrame(rows).set_index("role")

    # ---- A short look ----------------------------------------------------------------------------------------------

    def _headline(self) -> str:
        name = self._data.get("name") or "step"
        return f"{name}: {_time(self.step_time_s)} a step on {self.devices:,} devices"

    def __repr__(self) -> str:
        fits = "" if self._data.get("fits", True) else ", does not fit"
        return f"<Report {self._headline()}, MFU {self.mfu:.1%}{fits}>"

    def _repr_html_(self) -> str:
        most = max((entry["share"] for entry in self._data["breakdown"]), default=0.0)
        rows = ""
        for entry in sorted(self._data["breakdown"], key=lambda entry: -entry["seconds"]):
            width = 12 * entry["share"] / most if most else 0
            bar = f'<div style="background:#4c78a8;height:0.8em;width:{width:.2f}em"></div>'
            cells = (html.escape(entry["cause"]), _time(entry["seconds"]), f"{entry['share']:.1%}")
            rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + f'<td style="width:12em">{bar}</td></tr>'
        fits = "" if self._data.get("fits", True) else "; <b>does not fit in memory</b>"
        return (
            f"<p><b>{html.escape(self._headline())}</b><br>{self.tokens_per_s:,.4g} tokens/s; "
            f"{self.tflops_per_device:.4g} TFLOP/s per device; MFU {self.mfu:.1%} "
            f"({html.escape(str(self.flop_convention))}){fits}</p>"
            f"<table><tr><th>cause</th><th>mean</th><th>share</th><th></th></tr>{rows}</table>"
        )


def read_report(path: Union[str, "os.PathLike[str]"]) -> Report:
    """Reads a report.json, or the folder of a `warploom run --out`."""
    file = Path(path)
    if file.is_dir():
        file = file / "report.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "`warploom run X.yaml --out DIR` writes one"
        raise UserError(f"cannot read `{file}`: {error.strerror}\n  hint: {hint}", hint=hint) from error
    except ValueError as error:
        raise UserError(f"`{file}` is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != _SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else None
        raise UserError(f"`{file}` is no report of this version: expected schema `{_SCHEMA}`, got `{found}`")
    text = file.with_name("report.txt")
    return Report(data, text.read_text(encoding="utf-8") if text.is_file() else None)
