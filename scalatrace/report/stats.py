"""`stats`: calls, bytes and time per operation, call site or rank, as mpiP reports them.

A second table has what was measured besides times. `notes` says what is missing or estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.costs.efficiency import efficiency, run_time
from scalatrace.report.costs.measures import measures, measures_table
from scalatrace.report.costs.performance import efficiency_lines, plain_efficiency
from scalatrace.report.costs.phases import phase_line, plain_phases, unknown_efficiency
from scalatrace.report.costs.rows import JOIN, KEYS, RANK, Row, by_node, by_rank, key_of, whole_time
from scalatrace.report.style import (
    DIM,
    SITE,
    coarse_duration,
    coarse_percent,
    duration,
    more_columns,
    nbytes,
    number,
    op_text,
    or_dash,
    percent,
    short_site,
    table,
)
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.summaries import byte_parameters, summarised

COLUMNS = (
    "calls",
    "sent",
    "received",
    "MPI time",
    "mean",
    "max",
    "beyond min",
    "of MPI",
    "of all",
    "compute before",
)
TIMES = set(COLUMNS[3:])
WIDE_ONLY = {"received", "max", "of all", "compute before", "beyond min"}
WIDE = 122
"""Characters of a terminal that has room for all columns."""


class StatsReporter:
    """Prints one or two tables: `by` is "op", "site" or "rank"; `frames` distinguish call sites."""

    def __init__(self, trace: Trace, by: str = "op", limit: int | None = None, frames: int = 1) -> None:
        self.by, self.limit = by, limit
        self.phases, trace = plain_phases(trace.phases), trace.without_phases
        self.names = (RANK,) if by == "rank" else KEYS[by][0]
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
        whole = {name: self.whole.times()[name] for name in ("mpi_ns", "compute_ns")}
        facts: dict[str, Any] = {"by": self.by, "rows": rows, "whole": whole, "phases": self.phases}
        facts["run_time_ns"] = None if self.run_time.ns is None else round(self.run_time.ns)
        facts["efficiency"] = plain_efficiency(self.efficiency)
        return {**facts, **measured, "notes": self.notes}

    def render(self, console: Console) -> None:
        """Print the table and the line of totals; a narrow terminal gets fewer columns."""
        comm, compute = self.whole.comm_ns or 0.0, self.whole.compute_ns or 0.0
        numbers = self._columns(console)
        rows = table(*self.names, *numbers, right=numbers)
        for row in self.rows[: self.limit]:
            shown = self._numbers(row, comm, comm + compute)
            rows.add_row(*self._key(row.key), *(shown[name] for name in numbers))
        console.print(rows)
        if self.limit is not None and len(self.rows) > self.limit:
            console.print(Text(f"… {len(self.rows) - self.limit} more", style=DIM))
        self._totals(console, comm, compute)
        lines = efficiency_lines(self.run_time, self.efficiency) if self.timed else ()
        for line in filter(None, (phase_line(self.phases), *lines)):
            console.print(Text(line), soft_wrap=True)
        if self.measures:
            kept = {row.key for row in self.rows[: self.limit]}
            drawn = [measure for measure in self.measures if measure.key in kept]
            console.print(measures_table(drawn, self.names, self._key))
        notes = list(self.notes)
        if len(hidden := sorted(WIDE_ONLY - set(numbers) - (set() if self.timed else TIMES))):
            notes.append(more_columns(hidden))
        for note in notes:
            console.print(Text(f"note: {clean(note)}", style=DIM), soft_wrap=True)

    def _columns(self, console: Console) -> list[str]:
        """Return the columns that a console has room for; a file or a pipe has room for all."""
        unknown = set() if self.timed else TIMES
        wide = not console.is_terminal or console.width >= (WIDE if self.by != "site" else WIDE + 40)
        return [name for name in COLUMNS if name not in unknown and (wide or name not in WIDE_ONLY)]

    def _key(self, key: tuple[str, ...]) -> list[Text]:
        if self.by == "rank":
            return [Text(key[0])]
        site = [Text(JOIN.join(map(short_site, part.split(JOIN))), style=SITE) for part in key[1:]]
        return [op_text(key[0]), *site]

    def _numbers(self, row: Row, comm: float, whole: float) -> dict[str, str]:
        stored = self.by == RANK and len(self.rows) > 1
        time, share = (coarse_duration, coarse_percent) if stored else (duration, percent)
        return {
            "calls": number(row.calls),
            "sent": or_dash(nbytes, row.sent),
            "received": or_dash(nbytes, row.received),
            "MPI time": or_dash(time, row.comm_ns),
            "mean": or_dash(duration, row.mean_ns),
            "max": or_dash(coarse_duration, row.max_ns),
            "beyond min": or_dash(coarse_duration, row.beyond_ns),
            "of MPI": or_dash(lambda ns: share(ns, comm), row.comm_ns),
            "of all": or_dash(lambda ns: share(ns, whole), row.comm_ns),
            "compute before": or_dash(time, row.compute_ns),
        }

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
    for stat, what in ((COMM, "MPI time"), (COMPUTE, "computation")) if by == "rank" and not single else ():
        if trace.has_load(stat):
            yield f"{what} per rank is measured, and stored within 5 %"
        elif stat in trace.stat_index and trace.phases:
            yield f"{what}: {unknown_efficiency(trace.phases)}"
        elif stat in trace.stat_index:
            yield f"{what} per rank is not known: the trace stores that of all ranks together"
    if names := summarised(trace, byte_parameters):
        what = "are not known" if by == "rank" and not single else "are estimated from their means"
        yield f"bytes of calls whose sizes are kept as histograms {what}: {', '.join(names)}"
