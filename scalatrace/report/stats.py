"""`stats`: calls, bytes and time per operation, call site or rank, as mpiP reports them.

Calls and bytes are exact and come from the compressed form; times are the sums of the histograms' means.
What a persistent request moves belongs to the calls that start it. A second table has what was measured
besides times. Histograms are of all ranks together, so a rank has no times and no measurements of its own:
only its computation, if the trace stores its share (`Trace.load`). `notes` says what is missing or estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.measures import measures, measures_table
from scalatrace.report.style import (
    DIM,
    SITE,
    duration,
    nbytes,
    number,
    op_text,
    percent,
    short_site,
    table,
)
from scalatrace.trace.model.nodes import Event, PredStats
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import check_visits
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.summaries import byte_parameters, summarised
from scalatrace.trace.query.traffic import traffic, traffic_of
from scalatrace.trace.values.histogram import Histogram


@dataclass
class Row:
    """Totals of what shares a key; times in nanoseconds, over all ranks.

    Attributes:
        sent, received: bytes handed to MPI, and room made for bytes; None where only the mean is known.
        comm_ns, compute_ns: time in the calls, and in the computation before them; None: not measured.
        timed: calls whose time was measured; max_ns is the longest of them.
    """

    key: tuple[str, ...]
    calls: int = 0
    sent: int | None = 0
    received: int | None = 0
    comm_ns: float | None = None
    compute_ns: float | None = None
    timed: int = 0
    max_ns: float | None = None

    @property
    def mean_ns(self) -> float | None:
        """Mean time in a call; None: not measured."""
        return self.comm_ns / self.timed if self.comm_ns is not None and self.timed else None

    def add_time(self, event: Event, comm: int | None, compute: int | None, units: list[float]) -> None:
        """Add an event node's histograms."""
        for stats in event.stats:
            if (h := _histogram(stats, comm)) is not None and comm is not None:
                self.comm_ns = (self.comm_ns or 0.0) + h.total * units[comm]
                self.timed += h.count
                self.max_ns = max(self.max_ns or 0.0, h.max * units[comm])
            if (h := _histogram(stats, compute)) is not None and compute is not None:
                self.compute_ns = (self.compute_ns or 0.0) + h.total * units[compute]

    def add_traffic(self, ncalls: int, sent: int | None, received: int | None) -> None:
        """Add calls and the bytes they move; None: not known."""
        self.calls += ncalls
        self.sent = None if self.sent is None or sent is None else self.sent + sent
        self.received = None if self.received is None or received is None else self.received + received

    def plain(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the row as plain data; `names` of the parts of the key."""
        return {
            **dict(zip(names, self.key, strict=True)),
            "calls": self.calls,
            "bytes_sent": self.sent,
            "bytes_received": self.received,
            "mpi_ns": _rounded(self.comm_ns),
            "mpi_ns_mean": _rounded(self.mean_ns),
            "mpi_ns_max": _rounded(self.max_ns),
            "compute_ns": _rounded(self.compute_ns),
        }


def _rounded(ns: float | None) -> int | None:
    return None if ns is None else round(ns)


def _histogram(stats: PredStats, index: int | None) -> Histogram | None:
    """Return a statistic's histogram; trailing ones that are missing are not stored."""
    return stats.histograms[index] if index is not None and index < len(stats.histograms) else None


Key = Callable[[Trace, Event], tuple[str, ...]]


def _op(trace: Trace, event: Event) -> tuple[str, ...]:
    return (trace.ops[event.op].name,)


def _site(trace: Trace, event: Event) -> tuple[str, ...]:
    stack = trace.stack(event.signature)
    return trace.ops[event.op].name, stack[0] if stack else ""


KEYS: dict[str, tuple[tuple[str, ...], Key]] = {
    "op": (("operation",), _op),
    "site": (("operation", "call site"), _site),
}


def by_node(trace: Trace, by: str) -> list[Row]:
    """Return the rows of a key of KEYS, the most expensive first."""
    _, key = KEYS[by]
    rows: dict[tuple[str, ...], Row] = {}
    comm, compute = trace.stat_index.get(COMM), trace.stat_index.get(COMPUTE)
    units = [stat.resolution for stat in trace.stats]
    for leaf in trace.leaves():
        row = rows.setdefault(key(trace, leaf), Row(key(trace, leaf)))
        row.add_time(leaf, comm, compute, units)
    for event, ncalls, sent, received in traffic(trace):
        rows[key(trace, event)].add_traffic(ncalls, sent, received)
    return sorted(rows.values(), key=lambda row: (-(row.comm_ns or 0.0), -row.calls, row.key))


def whole_time(trace: Trace) -> Row:
    """Return the times of all calls of all ranks; no calls and bytes."""
    whole = Row(("",))
    comm, compute = trace.stat_index.get(COMM), trace.stat_index.get(COMPUTE)
    units = [stat.resolution for stat in trace.stats]
    for leaf in trace.leaves():
        whole.add_time(leaf, comm, compute, units)
    return whole


def by_rank(trace: Trace) -> list[Row]:
    """Return a row per rank.

    Times of a rank are its measured totals, within 5 %, where the trace stores them, else None: histograms
    are of all ranks together. The only rank of a trace has all times.
    """
    check_visits(trace)
    whole = whole_time(trace)
    rows = []
    for rank in trace.ranks:
        row = whole if len(trace.ranks) == 1 else Row(("",))
        row = replace(row, key=(str(rank),))
        for ncalls, sent, received, estimated in traffic_of(trace, rank):
            known = len(trace.ranks) == 1 or not estimated
            row.add_traffic(ncalls, *((sent, received) if known else (None, None)))
        if len(trace.ranks) > 1:
            row.compute_ns = _share(trace, COMPUTE, rank, whole.compute_ns)
            row.comm_ns = _share(trace, COMM, rank, whole.comm_ns)
        rows.append(row)
    return rows


def _share(trace: Trace, stat: str, rank: int, total_ns: float | None) -> float | None:
    if total_ns is None or not trace.has_load(stat):
        return None
    return total_ns / len(trace.ranks) * trace.load_factor(stat, rank)


COLUMNS = ("calls", "sent", "received", "MPI time", "mean", "max", "of MPI", "of all", "compute before")
TIMES = set(COLUMNS[3:])
WIDE_ONLY = {"received", "max", "of all", "compute before"}
WIDE = 110
"""Characters of a terminal that has room for all columns."""


class StatsReporter:
    """Prints one table, or two: `by` is "op", "site" or "rank"."""

    def __init__(self, trace: Trace, by: str = "op", limit: int | None = None) -> None:
        self.by, self.limit = by, limit
        self.names = ("rank",) if by == "rank" else KEYS[by][0]
        self.rows = by_rank(trace) if by == "rank" else by_node(trace, by)
        self.measures = [] if by == "rank" else measures(trace, KEYS[by][1])
        self.timed = COMM in trace.stat_index
        self.whole = whole_time(trace)
        self.notes = list(_notes(trace, by))

    def plain(self) -> dict[str, Any]:
        """Return all rows as plain data; what is not measured is None."""
        measured = {"measured": [row.plain(self.names) for row in self.measures]} if self.measures else {}
        rows = [row.plain(self.names) for row in self.rows]
        return {"by": self.by, "rows": rows, **measured, "notes": self.notes}

    def render(self, console: Console) -> None:
        """Print the table and the line of totals; a narrow terminal gets fewer columns."""
        comm, compute = self.whole.comm_ns or 0.0, self.whole.compute_ns or 0.0
        numbers = self._columns(console.width)
        rows = table(*self.names, *numbers, right=numbers)
        for row in self.rows[: self.limit]:
            shown = self._numbers(row, comm, comm + compute)
            rows.add_row(*self._key(row.key), *(shown[name] for name in numbers))
        console.print(rows)
        if self.limit is not None and len(self.rows) > self.limit:
            console.print(Text(f"… {len(self.rows) - self.limit} more", style=DIM))
        self._totals(console, comm, compute)
        if self.measures:
            kept = {row.key for row in self.rows[: self.limit]}
            drawn = [measure for measure in self.measures if measure.key in kept]
            console.print(measures_table(drawn, self.names, self._key))
        for note in self.notes:
            console.print(Text(f"note: {clean(note)}", style=DIM), soft_wrap=True)

    def _columns(self, width: int) -> list[str]:
        unknown = set() if self.timed else TIMES
        wide = width >= (WIDE if self.by != "site" else WIDE + 40)
        return [name for name in COLUMNS if name not in unknown and (wide or name not in WIDE_ONLY)]

    def _key(self, key: tuple[str, ...]) -> list[Text]:
        if self.by == "rank":
            return [Text(key[0])]
        site = [Text(short_site(part), style=SITE) for part in key[1:]]
        return [op_text(key[0]), *site]

    def _numbers(self, row: Row, comm: float, whole: float) -> dict[str, str]:
        return {
            "calls": number(row.calls),
            "sent": _or_dash(nbytes, row.sent),
            "received": _or_dash(nbytes, row.received),
            "MPI time": _or_dash(duration, row.comm_ns),
            "mean": _or_dash(duration, row.mean_ns),
            "max": _or_dash(duration, row.max_ns),
            "of MPI": _or_dash(lambda ns: percent(ns, comm), row.comm_ns),
            "of all": _or_dash(lambda ns: percent(ns, whole), row.comm_ns),
            "compute before": _or_dash(duration, row.compute_ns),
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


def _or_dash(shown: Callable[[float], str], value: float | None) -> str:
    return "-" if value is None else shown(value)


def _notes(trace: Trace, by: str) -> Iterator[str]:
    """Yield what the numbers are not: measured per rank, exact."""
    single = len(trace.ranks) == 1
    for stat, what in ((COMM, "MPI time"), (COMPUTE, "computation")) if by == "rank" and not single else ():
        if trace.has_load(stat):
            yield f"{what} per rank is measured, and stored within 5 %"
        elif stat in trace.stat_index:
            yield f"{what} per rank is not known: the trace stores that of all ranks together"
    if names := summarised(trace, byte_parameters):
        what = "are not known" if by == "rank" and not single else "are estimated from their means"
        yield f"bytes of calls whose sizes are kept as histograms {what}: {', '.join(names)}"
