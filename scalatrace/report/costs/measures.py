"""Table of the statistics of `record --stat`, per operation or call site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from rich.table import Table
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.style import IN_CALL, amount, coarse, number, table
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace

__all__ = ["COLUMNS", "Measure", "measures", "measures_table"]

OWN = frozenset({"compute_ns", "comm_ns", "source", "polls"})
"""The tracer's own statistics."""
COLUMNS = ("samples", "total", "mean", "min", "max")


@dataclass
class Measure:
    """All samples of one statistic that share a key, over all ranks.

    Attributes:
        stat: the statistic; `.call` at its end: inside the call, else in the computation before it.
        level: samples are levels, of which there is no total.
    """

    key: tuple[str, ...]
    stat: str
    level: bool
    samples: int = 0
    total: float = 0.0
    min: float = inf
    max: float = -inf

    @property
    def mean(self) -> float:
        return self.total / self.samples

    def plain(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the measure as plain data; `names` of the parts of the key."""
        given = {name: getattr(self, name) for name in COLUMNS}
        if self.level:
            given["total"] = None
        return {**dict(zip(names, self.key, strict=True)), "stat": self.stat, **given}


def measures(trace: Trace, key: Callable[[Trace, Event], tuple[str, ...]]) -> list[Measure]:
    """Return a measure per statistic and key that has samples: the largest of a statistic come first."""
    levels = set(trace.meta.get("levels", "").split())
    found: dict[tuple[int, tuple[str, ...]], Measure] = {}
    further = [(i, stat) for i, stat in enumerate(trace.stats) if stat.name not in OWN]
    for leaf in trace.leaves() if further else ():
        for stats in leaf.stats:
            for i, stat in further:
                if (histogram := stats.histograms[i]) is None:
                    continue
                h, where = histogram.scaled(stat.resolution), key(trace, leaf)
                level = stat.name.removesuffix(IN_CALL) in levels
                row = found.setdefault((i, where), Measure(where, stat.name, level))
                row.samples += h.count
                row.total += h.total
                row.min, row.max = min(row.min, h.min), max(row.max, h.max)
    order = sorted(found.items(), key=lambda item: (item[0][0], -item[1].total, item[0][1]))
    return [measure for _, measure in order]


def measures_table(
    rows: list[Measure], names: tuple[str, ...], shown: Callable[[tuple[str, ...]], list[Text]]
) -> Table:
    """Return the table of measurements; `shown` formats a key."""
    table_rows = table("measured", *names, *COLUMNS, right=COLUMNS)
    for row in rows:
        numbers = {name: amount(row.stat, getattr(row, name)) for name in ("total", "mean")}
        ends = coarse if row.stat.removesuffix(IN_CALL).endswith("_ns") else float
        numbers |= {name: amount(row.stat, ends(getattr(row, name))) for name in ("min", "max")}
        if row.level:
            numbers["total"] = "-"
        table_rows.add_row(clean(row.stat), *shown(row.key), number(row.samples), *numbers.values())
    return table_rows
