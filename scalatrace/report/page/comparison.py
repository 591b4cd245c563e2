"""Two traces side by side: figures, computation, operations and call sites that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from scalatrace.report.costs.compared import ComparedRanks
from scalatrace.report.costs.comparison import ComparisonReporter, flat_sides
from scalatrace.report.page.overview.summary import PageSummary
from scalatrace.report.style import coarse_duration, coarse_percent, duration, number
from scalatrace.trace.model.trace import Trace

__all__ = ["LESS", "MORE", "NEITHER", "Comparison", "Figure", "change", "comparison_of"]

MAX_ROWS = 200

MIN_SHARE = 0.001
"""Part of all differences of times from which on one is listed."""

LESS, MORE, NEITHER = -1, 1, 0
"""Which direction of a quantity is better."""

MAX_EQUAL_CHANGE = 0.05
"""Change of a ratio from 1 up to which nothing is called better or worse."""

BETTER, WORSE = "better", "worse"


class _ComparedQuantity(NamedTuple):
    """A number of a trace.

    Attributes:
        of: its value; None: not known.
        shown: the value as text.
        direction: LESS, MORE or NEITHER is better.
        summed: over all ranks. Times are shown per rank; other sums where the numbers of ranks differ.
    """

    name: str
    of: Callable[[PageSummary], float | None]
    shown: Callable[[float], str]
    direction: int
    summed: bool = False


def _efficiency(name: str) -> _ComparedQuantity:
    def of(summary: PageSummary) -> float | None:
        value: float | None = summary.efficiency[name] if summary.efficiency else None
        return value

    return _ComparedQuantity(name.replace("_", " "), of, coarse_percent, MORE)


QUANTITIES = (
    _ComparedQuantity("ranks", lambda one: one.nprocs, number, NEITHER),
    _ComparedQuantity("calls", lambda one: one.events, number, NEITHER, summed=True),
    _ComparedQuantity("run time", lambda one: one.run_time_ns, coarse_duration, LESS),
    _ComparedQuantity("time in MPI", lambda one: one.comm_ns, duration, LESS, summed=True),
    _ComparedQuantity("computation", lambda one: one.compute_ns, duration, LESS, summed=True),
    _efficiency("parallel_efficiency"),
    _efficiency("load_balance"),
    _efficiency("communication_efficiency"),
)


@dataclass(frozen=True)
class Figure:
    """A number of both traces as text.

    Attributes:
        ratio: right over left; None: not known.
        change: "better", "worse" or "": neither.
    """

    name: str
    left: str
    right: str
    ratio: float | None
    change: str


@dataclass(frozen=True)
class Comparison:
    """Differences.

    Attributes:
        sentence: which trace is slower, and why; "": not known.
        times: rows with the columns of TIME_DIFFERENCES, the largest differences first.
        operations, sites: rows with the columns of DIFFERENCES, likewise.
        ranks: numbers of ranks if they differ; then calls and bytes are per rank, as all times are.
        note: why there are none.
    """

    figures: tuple[Figure, ...]
    sentence: str
    times: tuple[dict[str, Any], ...]
    operations: tuple[dict[str, Any], ...]
    sites: tuple[dict[str, Any], ...]
    ranks: tuple[int, int] | None
    note: str


def comparison_of(left: Trace, right: Trace, summaries: tuple[PageSummary, PageSummary]) -> Comparison:
    """Compare two traces, whose summaries are given."""
    by_op, by_site = (ComparisonReporter(left, right, by, True, MAX_ROWS) for by in ("op", "site"))
    ranks = by_site.compared.ranks
    return Comparison(
        tuple(_figure(quantity, *summaries) for quantity in QUANTITIES),
        by_site.sentence("A", "B"),
        tuple(_times(by_site)),
        tuple(_calls(by_op.plain(), ranks)),
        tuple(_calls(by_site.plain(), ranks)),
        (ranks.left, ranks.right) if ranks.differ else None,
        by_site.note,
    )


def change(ratio: float | None, direction: int) -> str:
    """Return whether a ratio is "better" or "worse"; "" for neither."""
    if ratio is None or direction == NEITHER or abs(ratio - 1) <= MAX_EQUAL_CHANGE:
        return ""
    return BETTER if (ratio > 1) == (direction == MORE) else WORSE


def _rows(rows: list[dict[str, Any]], ranks: ComparedRanks) -> tuple[dict[str, Any], ...]:
    """Return the first rows with their change and amounts over the ranks."""
    return tuple(
        {
            **row,
            "call site": row.get("call site", ""),
            "left": _divide_by_ranks(row["left"], ranks.left, ranks.differ),
            "right": _divide_by_ranks(row["right"], ranks.right, ranks.differ),
            "change": change(row["time_ratio"], LESS),
        }
        for row in rows[:MAX_ROWS]
    )


def _times(compared: ComparisonReporter) -> Iterator[dict[str, Any]]:
    for row in compared.times()[:MAX_ROWS]:
        if row["share_of_difference"] >= MIN_SHARE:
            yield {**row, "row_class": "", "classes": {"time_ratio": change(row["time_ratio"], LESS)}}


def _calls(rows: list[dict[str, Any]], ranks: ComparedRanks) -> Iterator[dict[str, Any]]:
    """Yield the rows of calls; those that only one trace has are marked."""
    for row in _rows(rows, ranks):
        is_single = not row["left"]["calls"] or not row["right"]["calls"]
        marks = {"row_class": "only" if is_single else "", "classes": {"time_ratio": row["change"]}}
        yield {**flat_sides(row), **marks}


def _divide_by_ranks(side: dict[str, Any], ranks: int, all_amounts: bool) -> dict[str, Any]:
    """Return times as means of a rank; `all_amounts`: calls and bytes, too."""
    return {
        name: n / ranks if n is not None and (all_amounts or name.endswith("_ns")) else n
        for name, n in side.items()
    }


def _figure(quantity: _ComparedQuantity, left: PageSummary, right: PageSummary) -> Figure:
    a, b = quantity.of(left), quantity.of(right)
    name = quantity.name
    if quantity.summed and (quantity.shown is duration or left.nprocs != right.nprocs):
        name += " per rank"
        a, b = (None if n is None else n / aggregates.nprocs for n, aggregates in ((a, left), (b, right)))
    left_text, right_text = ("-" if value is None else quantity.shown(value) for value in (a, b))
    ratio = None if a is None or b is None or not a else b / a
    return Figure(name, left_text, right_text, ratio, change(ratio, quantity.direction))
