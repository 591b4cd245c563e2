"""Filters of templates, for the page and for notebooks: numbers, times, sizes and call sites as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scalatrace.report.costs.rows import short_site_text
from scalatrace.report.scaling.runs import grade
from scalatrace.report.style import (
    cell,
    coarse_duration,
    coarse_percent,
    duration,
    interval_ends,
    nbytes,
    number,
    percent,
    ratio_text,
)
from scalatrace.report.tables import TableColumn
from scalatrace.trace.model.callsite import short_frame, split_frame

__all__ = ["FILTERS"]


def _or_dash(shown: Callable[[float], str]) -> Callable[[float | None], str]:
    return lambda value: "–" if value is None else shown(value)


def _cell(value: Any, column: TableColumn) -> str:
    return "–" if value is None else str(cell(column, value))


def _without_function(frame: str) -> str:
    parts = split_frame(frame)
    return f"{parts.file.rpartition('/')[2]}:{parts.line}" if parts.line else short_frame(frame)


FILTERS: dict[str, Callable[..., str]] = {
    "cell": _cell,
    "duration": _or_dash(duration),
    "grade": grade,
    "interval": lambda interval: " to ".join(interval_ends(interval["low_ns"], interval["high_ns"])),
    "coarse_duration": _or_dash(coarse_duration),
    "coarse_percent": _or_dash(coarse_percent),
    "nbytes": _or_dash(nbytes),
    "number": _or_dash(number),
    "percent": _or_dash(percent),
    "ratio": _or_dash(ratio_text),
    "factor": _or_dash(lambda factor: f"{factor:,.0f}" if factor >= 100 else f"{factor:.4g}"),
    "power": _or_dash(lambda exponent: f"P^{round(exponent, 2) + 0.0:.2f}"),
    "change": _or_dash(lambda share: f"{share:+.2%}"),
    "figure": _or_dash(lambda value: f"{value:.5g}"),
    "line": _without_function,
    "site": short_site_text,
}
