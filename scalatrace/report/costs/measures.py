"""Table of the statistics of `record --stat`, per operation or call site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from scalatrace.report.columns import MEASURES
from scalatrace.report.style import IN_CALL, amount, coarse, text_table
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace

__all__ = ["CostMeasure", "measures", "measures_table"]

OWN = frozenset({"compute_ns", "comm_ns", "source", "polls"})
"""The tracer's own statistics."""


@dataclass
class CostMeasure:
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
        return {**dict(zip(names, self.key, strict=True)), "stat": self.stat, **self.amounts()}

    def amounts(self) -> dict[str, float | None]:
        """Return the numbers of the measure; None: it has no total."""
        return {
            "samples": self.samples,
            "total": None if self.level else self.total,
            "mean": self.mean,
            "min": self.min,
            "max": self.max,
        }


def measures(trace: Trace, key: Callable[[Trace, Event], tuple[str, ...]]) -> list[CostMeasure]:
    """Return a measure per statistic and key that has samples: the largest of a statistic come first."""
    levels = set(trace.meta.get("levels", "").split())
    rows: dict[tuple[int, tuple[str, ...]], CostMeasure] = {}
    further = [(i, stat) for i, stat in enumerate(trace.stats) if stat.name not in OWN]
    for leaf in trace.leaves() if further else ():
        for stats in leaf.stats:
            for i, stat in further:
                if (histogram := stats.histograms[i]) is None:
                    continue
                h, where = histogram.scaled(stat.resolution), key(trace, leaf)
                level = stat.name.removesuffix(IN_CALL) in levels
                row = rows.setdefault((i, where), CostMeasure(where, stat.name, level))
                row.samples += h.count
                row.total += h.total
                row.min, row.max = min(row.min, h.min), max(row.max, h.max)
    order = sorted(rows.items(), key=lambda item: (item[0][0], -item[1].total, item[0][1]))
    return [measure for _, measure in order]


def measures_table(
    rows: list[CostMeasure],
    names: tuple[str, ...],
    key_texts: Callable[[tuple[str, ...]], dict[str, str | Text]],
) -> RichTable:
    """Return the table of measurements; `key_texts`: the parts of a key by their names."""
    table = MEASURES.only("stat", *names, "samples", "total", "mean", "min", "max")
    return text_table(table, ({"stat": row.stat, **key_texts(row.key), **_texts(row)} for row in rows))


def _texts(row: CostMeasure) -> dict[str, Any]:
    """Return the numbers of a measure in the unit of its statistic."""
    amounts = row.amounts()
    ends = coarse if row.stat.removesuffix(IN_CALL).endswith("_ns") else float
    amounts |= {name: ends(amounts[name] or 0.0) for name in ("min", "max")}
    shown = {name: amount(row.stat, value) for name, value in amounts.items() if value is not None}
    return {**amounts, **shown, "samples": row.samples}
