"""`stats`: calls, bytes and time per operation, call site or rank, as mpiP reports them.

A second table has what was measured besides times. `notes` says what is missing or estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.columns import MEASURES, STATS, TIMES, WHOLE_TIMES
from scalatrace.report.costs.efficiency import efficiency, run_time
from scalatrace.report.costs.performance import efficiency_lines, plain_efficiency
from scalatrace.report.costs.phases import phase_line, plain_phases, unknown_efficiency
from scalatrace.report.costs.rows import JOIN, KEYS, RANK, CostRow, by_node, by_rank, key_of, whole_time
from scalatrace.report.style import (
    DIM,
    IN_CALL,
    SiteText,
    amount,
    coarse,
    duration,
    fit_columns,
    more_columns,
    nbytes,
    number,
    percent,
    print_more,
    short_site,
    text_table,
)
from scalatrace.report.tables import CommandTable
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.summaries import byte_parameters, summarised

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


RESERVED_FOR_SITES = 40
"""Characters of a terminal that call sites take."""


class StatsReporter:
    """Prints one or two tables.

    Args:
        by: "op", "site", "memory", "thread" or "rank".
        frames: distinguish call sites.
    """

    def __init__(self, trace: Trace, by: str = "op", limit: int | None = None, frames: int = 1) -> None:
        self.by, self.limit = by, limit
        self.phases, trace = plain_phases(trace.phases), trace.without_phases
        self.names = (RANK,) if by == "rank" else KEYS[by][0]
        self.table = STATS.without(*{"operation", "call site", "memory", "thread", RANK} - set(self.names))
        self.rows = by_rank(trace) if by == "rank" else by_node(trace, by, frames)
        self.measures = [] if by == "rank" else measures(trace, key_of(by, frames))
        self.timed = COMM in trace.stat_index
        self.whole = whole_time(trace)
        self.efficiency = efficiency(trace, self.whole)
        self.run_time = run_time(trace, self.whole, self.efficiency)
        self.notes = list(_notes(trace, by))

    def plain(self) -> dict[str, Any]:
        """Return all rows as plain data; what is not measured is None."""
        measured = {"measured": [row.plain(self.names) for row in self.measures]} if self.measures else {}
        rows = [row.plain(self.names) for row in self.rows]
        totals = WHOLE_TIMES.plain(self.whole.amounts())
        facts: dict[str, Any] = {"by": self.by, "rows": rows, "whole": totals, "phases": self.phases}
        facts["run_time_ns"] = None if self.run_time.ns is None else round(self.run_time.ns)
        facts["run_time_interval_ns"] = self.run_time.interval_ns
        facts["efficiency"] = plain_efficiency(self.efficiency)
        return {**facts, **measured, "notes": self.notes}

    def render(self, console: Console) -> None:
        """Print the table and the line of totals; a narrow terminal gets fewer columns."""
        comm, compute = self.whole.comm_ns or 0.0, self.whole.compute_ns or 0.0
        shown, hidden = fit_columns(
            self._text_columns(), console, RESERVED_FOR_SITES if self.by == "site" else 0
        )
        rows = (self._texts(row, comm, comm + compute) for row in self.rows[: self.limit])
        console.print(text_table(shown, rows))
        if self.limit is not None:
            print_more(console, len(self.rows) - self.limit)
        self._totals(console, comm, compute)
        lines = efficiency_lines(self.run_time, self.efficiency) if self.timed else ()
        for line in filter(None, (phase_line(self.phases), *lines)):
            console.print(Text(line), soft_wrap=True)
        if self.measures:
            kept = {row.key for row in self.rows[: self.limit]}
            drawn = [measure for measure in self.measures if measure.key in kept]
            console.print(measures_table(drawn, self.names, self._key))
        notes = list(self.notes)
        if hidden:
            notes.append(more_columns(sorted(hidden)))
        for note in notes:
            console.print(Text(f"note: {clean(note)}", style=DIM), soft_wrap=True)

    def _text_columns(self) -> CommandTable:
        """Return the columns that are known; times of a rank are estimates, unless it is the only one."""
        if not self.timed:
            return self.table.without(*TIMES.names, "of_mpi", "of_all")
        stored = self.by == RANK and len(self.rows) > 1
        return self.table.estimated("mpi_ns", "of_mpi", "of_all", "compute_ns") if stored else self.table

    def _key(self, key: tuple[str, ...]) -> dict[str, str | Text]:
        """Return the parts of a key as text by their names."""
        sites = (SiteText(JOIN.join(map(short_site, part.split(JOIN)))) for part in key[1:])
        return dict(zip(self.names, (key[0], *sites), strict=True))

    def _texts(self, row: CostRow, comm: float, total: float) -> dict[str, Any]:
        in_mpi = row.comm_ns
        shares = {
            name: None if in_mpi is None else (in_mpi, ns)
            for name, ns in (("of_mpi", comm), ("of_all", total))
        }
        return {**self._key(row.key), **row.amounts(), **shares}

    def _totals(self, console: Console, comm: float, compute: float) -> None:
        ncalls = sum(row.calls for row in self.rows)
        sent = [row.sent for row in self.rows]
        text = f"{number(ncalls)} calls"
        if None not in sent:
            text += f", {nbytes(sum(n for n in sent if n is not None))} sent"
        if self.timed:
            share = percent(comm, comm + compute)
            text += f", {duration(comm)} in MPI, {duration(compute)} computing ({share} MPI)"
        console.print(Text(text, style="bold"))


def _notes(trace: Trace, by: str) -> Iterator[str]:
    """Yield what the numbers are not: measured per rank, exact."""
    single = len(trace.ranks) == 1
    for stat, kind in ((COMM, "MPI time"), (COMPUTE, "computation")) if by == "rank" and not single else ():
        if trace.has_load(stat):
            yield f"{kind} per rank is measured, and stored within 5 %"
        elif stat in trace.stat_index and trace.phases:
            yield f"{kind}: {unknown_efficiency(trace.phases)}"
        elif stat in trace.stat_index:
            yield f"{kind} per rank is not known: the trace stores that of all ranks together"
    if names := summarised(trace, byte_parameters):
        state = "are not known" if by == "rank" and not single else "are estimated from their means"
        yield f"bytes of calls whose sizes are kept as histograms {state}: {', '.join(names)}"
