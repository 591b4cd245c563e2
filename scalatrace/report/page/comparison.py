"""Two traces side by side: figures, operations and call sites that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scalatrace.report.costs.comparison import ComparisonReporter
from scalatrace.report.page.overview.summary import Summary
from scalatrace.report.style import duration, number
from scalatrace.trace.model.trace import Trace

__all__ = ["Comparison", "Figure", "comparison_of"]

MAX_ROWS = 200


@dataclass(frozen=True)
class Figure:
    """A number of both traces as text; `ratio`: right over left, None where it is not known."""

    name: str
    left: str
    right: str
    ratio: float | None


@dataclass(frozen=True)
class Comparison:
    """Differences.

    Attributes:
        operations, sites: rows as in `diff --json`, the largest differences first.
        note: why there are none.
    """

    figures: tuple[Figure, ...]
    operations: tuple[dict[str, Any], ...]
    sites: tuple[dict[str, Any], ...]
    note: str


def comparison_of(left: Trace, right: Trace, summaries: tuple[Summary, Summary]) -> Comparison:
    """Compare two traces, whose summaries are given."""
    tables = [ComparisonReporter(left, right, by, True, MAX_ROWS) for by in ("op", "site")]
    operations, sites = (
        tuple({**row, "call site": row.get("call site", "")} for row in table.plain()[:MAX_ROWS])
        for table in tables
    )
    return Comparison(tuple(_figures(*summaries)), operations, sites, tables[0].note)


def _figures(left: Summary, right: Summary) -> list[Figure]:
    pairs: list[tuple[str, float | None, float | None, Callable[[float], str]]] = [
        ("ranks", left.nprocs, right.nprocs, number),
        ("calls", left.events, right.events, number),
        ("run time", left.run_time_ns, right.run_time_ns, duration),
        ("time in MPI, all ranks", left.comm_ns, right.comm_ns, duration),
        ("computation, all ranks", left.compute_ns, right.compute_ns, duration),
    ]
    for name in ("parallel_efficiency", "load_balance", "communication_efficiency"):
        values = [one.efficiency[name] if one.efficiency else None for one in (left, right)]
        pairs.append((name.replace("_", " "), values[0], values[1], lambda value: f"{100 * value:.1f} %"))
    result = []
    for name, a, b, shown in pairs:
        left_text, right_text = ("-" if value is None else shown(value) for value in (a, b))
        result.append(Figure(name, left_text, right_text, _ratio(a, b)))
    return result


def _ratio(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None or not left else right / left
