"""`stats`: calls, bytes and time per operation, call site or rank, as mpiP reports them.

Calls and bytes are exact and come from the compressed form; times are the sums of the histograms' means.
What a persistent request moves belongs to the calls that start it. A second table has what was measured
besides times; ranks have none, since histograms are of all ranks together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.ops import received_bytes, sent_bytes
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
from scalatrace.trace.counting import executions_of
from scalatrace.trace.histogram import Histogram
from scalatrace.trace.load import COMM, COMPUTE
from scalatrace.trace.nodes import Event, PredStats
from scalatrace.trace.requests import started
from scalatrace.trace.trace import Trace
from scalatrace.trace.walk import distinct_calls


@dataclass
class Row:
    """Totals of what shares a key; times in nanoseconds, over all ranks.

    Attributes:
        sent, received: bytes handed to MPI, and room made for bytes.
        comm_ns, compute_ns: time in the calls, and in the computation before them.
        timed: calls whose time was measured; max_ns is the longest of them.
    """

    key: tuple[str, ...]
    calls: int = 0
    sent: int = 0
    received: int = 0
    comm_ns: float = 0.0
    compute_ns: float = 0.0
    timed: int = 0
    max_ns: float = 0.0

    def add_time(self, event: Event, comm: int | None, compute: int | None, units: list[float]) -> None:
        """Add an event node's histograms."""
        for stats in event.stats:
            if (h := _histogram(stats, comm)) is not None and comm is not None:
                self.comm_ns += h.total * units[comm]
                self.timed += h.count
                self.max_ns = max(self.max_ns, h.max * units[comm])
            if (h := _histogram(stats, compute)) is not None and compute is not None:
                self.compute_ns += h.total * units[compute]

    def add_traffic(self, ncalls: int, sent: int, received: int) -> None:
        """Add calls and the bytes they move."""
        self.calls += ncalls
        self.sent += sent
        self.received += received

    def plain(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the row as plain data; `names` of the parts of the key."""
        mean = self.comm_ns / self.timed if self.timed else 0.0
        return {
            **dict(zip(names, self.key, strict=True)),
            "calls": self.calls,
            "bytes_sent": self.sent,
            "bytes_received": self.received,
            "mpi_ns": round(self.comm_ns),
            "mpi_ns_mean": round(mean),
            "mpi_ns_max": round(self.max_ns),
            "compute_ns": round(self.compute_ns),
        }


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
    for rank in trace.ranks:
        for event, ncalls, sent, received in _traffic(trace, rank):
            rows[key(trace, event)].add_traffic(ncalls, sent, received)
    return sorted(rows.values(), key=lambda row: (-row.comm_ns, -row.calls, row.key))


def by_rank(trace: Trace) -> list[Row]:
    """Return a row per rank; times are the mean rank's, times the rank's share of the load."""
    whole = Row(("",))
    comm, compute = trace.stat_index.get(COMM), trace.stat_index.get(COMPUTE)
    for leaf in trace.leaves():
        whole.add_time(leaf, comm, compute, [stat.resolution for stat in trace.stats])
    rows = []
    for rank in trace.ranks:
        row = Row((str(rank),))
        for _, ncalls, sent, received in _traffic(trace, rank):
            row.add_traffic(ncalls, sent, received)
        row.comm_ns = whole.comm_ns / len(trace.ranks) * trace.load_factor(COMM, rank)
        row.compute_ns = whole.compute_ns / len(trace.ranks) * trace.load_factor(COMPUTE, rank)
        row.timed = row.calls if whole.timed else 0
        rows.append(row)
    return rows


def _traffic(trace: Trace, rank: int) -> Iterator[tuple[Event, int, int, int]]:
    """Yield event node, calls, bytes sent and received by a rank; nodes that start requests come again."""
    for event, times in executions_of(trace, rank):
        sent = received = 0
        for call, n in distinct_calls(trace, event, rank, times):
            sent += n * sent_bytes(call.op, call)
            received += n * received_bytes(call.op, call)
        yield event, times, sent, received
    for event, made, n in started(trace, rank):
        sent, received = (f(made.op, made, started=True) for f in (sent_bytes, received_bytes))
        yield event, 0, n * sent, n * received


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

    def plain(self) -> dict[str, Any]:
        """Return all rows as plain data."""
        measured = {"measured": [row.plain(self.names) for row in self.measures]} if self.measures else {}
        return {"by": self.by, "rows": [row.plain(self.names) for row in self.rows], **measured}

    def render(self, console: Console) -> None:
        """Print the table and the line of totals; a narrow terminal gets fewer columns."""
        comm, compute = sum(r.comm_ns for r in self.rows), sum(r.compute_ns for r in self.rows)
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

    def _columns(self, width: int) -> list[str]:
        unknown = set() if self.timed else TIMES
        if self.by == "rank":
            unknown = unknown | {"max"}
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
            "sent": nbytes(row.sent),
            "received": nbytes(row.received),
            "MPI time": duration(row.comm_ns),
            "mean": duration(row.comm_ns / row.timed) if row.timed else "-",
            "max": duration(row.max_ns),
            "of MPI": percent(row.comm_ns, comm),
            "of all": percent(row.comm_ns, whole),
            "compute before": duration(row.compute_ns),
        }

    def _totals(self, console: Console, comm: float, compute: float) -> None:
        ncalls = sum(row.calls for row in self.rows)
        text = f"{number(ncalls)} calls, {nbytes(sum(row.sent for row in self.rows))} sent"
        if self.timed:
            share = percent(comm, comm + compute)
            text += f", {duration(comm)} in MPI, {duration(compute)} computing ({share} MPI)"
        console.print(Text(text, style="bold"))
