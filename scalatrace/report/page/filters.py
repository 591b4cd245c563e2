"""Filters of templates, for the page and for notebooks: numbers, times, sizes and call sites as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup, escape

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
    share_interval,
)
from scalatrace.report.tables import TableColumn
from scalatrace.trace.model.callsite import short_frame, split_frame

__all__ = ["FILTERS", "PAGE_FILTERS"]


def _or_dash(shown: Callable[[float], str]) -> Callable[[float | None], str]:
    return lambda value: "–" if value is None else shown(value)


def _cell(value: Any, column: TableColumn) -> str:
    return "–" if value is None else str(cell(column, value))


BREAKS = re.compile(r"(?<=:)(?=[A-Za-z_~(<])|(?<=/)")
"""Where a call site may be broken: within a path, and before a name. As in format.js."""


def _breakable(text: str) -> Markup:
    return Markup("<wbr>").join(escape(part) for part in BREAKS.split(text))


def _without_function(frame: str) -> str:
    return split_frame(frame).place or short_frame(frame)


def _advice_share(advice: Mapping[str, Any]) -> str:
    """Return the share of an entry of advice: a number, an interval or a bound."""
    low_share, share = advice["low_share"], advice["share"]
    text = share_interval(share if low_share is None else low_share, share)
    return f"at most {text}" if advice["is_bound"] else text


FILTERS: dict[str, Callable[..., str]] = {
    "advice_share": _advice_share,
    "cell": _cell,
    "duration": _or_dash(duration),
    "grade": grade,
    "interval": lambda interval: " to ".join(interval_ends(interval["low_ns"], interval["high_ns"])),
    "coarse_duration": _or_dash(coarse_duration),
    "coarse_percent": _or_dash(coarse_percent),
    "mean_count": _or_dash(lambda count: number(round(count)) if count >= 10 else f"{count:.2g}"),
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

PAGE_FILTERS = FILTERS | {
    name: lambda text, shown=FILTERS[name]: _breakable(shown(text)) for name in ("line", "site")
}
"""As FILTERS, with call sites that a browser may break."""
