"""Rows of calls, bytes and times: of operations, call sites, kinds of memory, or ranks.

Calls and bytes are exact and come from the compressed form; times are the sums of the histograms' means.
What a persistent request moves belongs to the calls that start it. Histograms are of all ranks together, so a
rank has no times of single calls: only its totals, if the trace stores them (`Trace.load`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from scalatrace.report.columns import AMOUNTS
from scalatrace.trace.exchange.buffer_memory import memory_of
from scalatrace.trace.model.callsite import Stack, callers, short_frame
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.query.counting import check_visits
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.traffic import traffic, traffic_of
from scalatrace.trace.values.from_arrays import first_values
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.quantiles import pooled_quantile

__all__ = [
    "JOIN", "KEYS", "NO_STACK", "RANK", "CostRow", "by_node", "by_rank", "distinct_sites",
    "key_of", "rank_totals", "rows_of", "short_site_text", "site_of", "timed_by_node",
    "whole_time",
]  # fmt: skip

MAX_RANKS = 1 << 22
"""Traces of more ranks have no totals of each rank here, which would take 100 MB."""

RANK = "rank"
"""The name of a rank's row."""


@dataclass
class CostRow:
    """Totals of what shares a key; times in nanoseconds, over all ranks.

    Attributes:
        sent, received: bytes handed to MPI, and room made for bytes; None where only the mean is known.
        comm_ns, compute_ns: time in the calls, and in the computation before them; None: not measured.
        timed: calls whose time was measured; max_ns is the longest of them.
        beyond_ns: time beyond that of the shortest call of each event node: at most so much was waiting.
        durations_ns: times of the calls that were measured.
    """

    key: tuple[str, ...]
    calls: int = 0
    sent: int | None = 0
    received: int | None = 0
    comm_ns: float | None = None
    compute_ns: float | None = None
    timed: int = 0
    max_ns: float | None = None
    beyond_ns: float | None = None
    durations_ns: list[Histogram] = field(default_factory=list)

    @property
    def mean_ns(self) -> float | None:
        """Mean time in a call; None: not measured."""
        return self.comm_ns / self.timed if self.comm_ns is not None and self.timed else None

    @property
    def median_ns(self) -> float | None:
        """Time that half of the calls do not exceed, estimated from the bins; None: not measured."""
        return pooled_quantile(self.durations_ns, 0.5) if self.durations_ns else None

    def add_time(self, event: Event, comm: int | None, compute: int | None, units: list[float]) -> None:
        """Add an event node's histograms."""
        inside, unit = [], units[comm] if comm is not None else 0.0
        for _, h in event.histograms_by_pred(comm):
            inside.append(h)
            self.durations_ns.append(h.scaled(unit))
            self.comm_ns = (self.comm_ns or 0.0) + h.total * unit
            self.timed += h.count
            self.max_ns = max(self.max_ns or 0.0, h.max * unit)
        compute_unit = units[compute] if compute is not None else 0.0
        for _, h in event.histograms_by_pred(compute):
            self.compute_ns = (self.compute_ns or 0.0) + h.total * compute_unit
        if inside:
            shortest = min(h.min for h in inside)
            beyond = sum(max(0.0, h.total - h.count * shortest) for h in inside)
            self.beyond_ns = (self.beyond_ns or 0.0) + beyond * unit

    def add_traffic(self, ncalls: int, sent: int | None, received: int | None) -> None:
        """Add calls and the bytes they move; None: not known."""
        self.calls += ncalls
        self.sent = None if self.sent is None or sent is None else self.sent + sent
        self.received = None if self.received is None or received is None else self.received + received

    def plain(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the row as plain data; `names` of the parts of the key."""
        return {
            **{name: int(part) if name == RANK else part for name, part in zip(names, self.key, strict=True)},
            **AMOUNTS.plain(self.amounts()),
        }

    def amounts(self) -> dict[str, float | None]:
        """Return the values of AMOUNTS; None: not measured."""
        return {
            "calls": self.calls,
            "bytes_sent": self.sent,
            "bytes_received": self.received,
            "mpi_ns": self.comm_ns,
            "mpi_ns_mean": self.mean_ns,
            "mpi_ns_median": self.median_ns,
            "mpi_ns_max": self.max_ns,
            "beyond_shortest_ns": self.beyond_ns,
            "compute_ns": self.compute_ns,
        }


Key = Callable[[Trace, Event], tuple[str, ...]]


def _op(trace: Trace, event: Event) -> tuple[str, ...]:
    return (trace.ops[event.op].name,)


JOIN = " < "
"""Between the frames of a call site with its callers."""

NO_STACK = "(no call stack)"


def site_of(stack: Stack, frames: int = 1) -> str:
    """Return a call site: the innermost frames outside the communication layer."""
    return JOIN.join(callers(stack, frames)) or NO_STACK


def short_site_text(frames: str) -> str:
    """Return frames that are joined by JOIN without their directories; "" of none."""
    return JOIN.join(map(short_frame, frames.split(JOIN))) if frames else ""


def distinct_sites(calls: Sequence[tuple[str, Stack]], frames: int = 1, max_frames: int = 6) -> list[str]:
    """Return the call sites of some operations and stacks, with callers where they differ only in these.

    Args:
        frames: innermost frames of each.
        max_frames: frames of a call site at most. Those that are equal in all of them stay equal.
    """
    levels = range(frames, max_frames + 1)
    texts = [[(op, site_of(stack, n)) for n in levels] for op, stack in calls]

    def shown(frames: list[tuple[str, str]]) -> str:
        others_frames = [text for text in texts if text[-1] != frames[-1]]
        level = next(i for i in range(len(levels)) if all(text[i] != frames[i] for text in others_frames))
        return frames[level][1]

    return [shown(call_texts) for call_texts in texts]


def _site(trace: Trace, event: Event, frames: int = 1) -> tuple[str, ...]:
    """Operation and call site."""
    return trace.ops[event.op].name, site_of(trace.stack(event.signature), frames)


NO_BUFFERS = "(none or unknown)"


def _memory(trace: Trace, event: Event) -> tuple[str, ...]:
    """Where the buffers of the calls lie; of calls with different ones all values."""
    return (" / ".join(memory_of(trace, event)) or NO_BUFFERS,)


def _thread(trace: Trace, event: Event) -> tuple[str, ...]:
    return (str(trace.thread_of(event)),)


KEYS: dict[str, tuple[tuple[str, ...], Key]] = {
    "op": (("operation",), _op),
    "site": (("operation", "call site"), _site),
    "memory": (("memory",), _memory),
    "thread": (("thread",), _thread),
}


def key_of(by: str, frames: int = 1) -> Key:
    """Return the function that gives the key of an event; `frames` of each call site are distinguished."""
    return partial(_site, frames=frames) if by == "site" else KEYS[by][1]


def by_node(trace: Trace, by: str, frames: int = 1) -> list[CostRow]:
    """Return the rows of a key of KEYS, the most expensive first; `frames` as in `key_of`."""
    return _order_rows(rows_of(trace, key_of(by, frames)).values())


def timed_by_node(trace: Trace, by: str, frames: int = 1) -> list[CostRow]:
    """As `by_node`, with times only: quick for any number of ranks."""
    return _order_rows(rows_of(trace, key_of(by, frames), bytes_too=False).values())


def rows_of(trace: Trace, key: Key, bytes_too: bool = True) -> dict[tuple[str, ...], CostRow]:
    """Return the rows of any key of event nodes; `bytes_too`: with calls and bytes, not times only."""
    rows: dict[tuple[str, ...], CostRow] = {}
    comm, compute = trace.stat_index.get(COMM), trace.stat_index.get(COMPUTE)
    units = [stat.resolution for stat in trace.stats]
    for leaf in trace.leaves():
        where = key(trace, leaf)
        rows.setdefault(where, CostRow(where)).add_time(leaf, comm, compute, units)
    for event, ncalls, sent, received in traffic(trace) if bytes_too else ():
        rows[key(trace, event)].add_traffic(ncalls, sent, received)
    return rows


def _order_rows(rows: Iterable[CostRow]) -> list[CostRow]:
    return sorted(rows, key=lambda row: (-(row.comm_ns or 0.0), -row.calls, row.key))


def whole_time(trace: Trace) -> CostRow:
    """Return the times of all calls of all ranks; no calls and bytes."""
    total = CostRow(("",))
    comm, compute = trace.stat_index.get(COMM), trace.stat_index.get(COMPUTE)
    units = [stat.resolution for stat in trace.stats]
    for leaf in trace.leaves():
        total.add_time(leaf, comm, compute, units)
    return total


def rank_totals(
    trace: Trace, stat: str, whole_ns: float | None
) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Each rank's total in ns of a statistic of times, within 5 %; None: only that of all is known."""
    if stat not in trace.stat_index:
        return None
    n, total_ns = len(trace.ranks), whole_ns or 0.0
    if n == 1:
        return np.array([total_ns])
    vec = trace.load_of(stat)
    if vec is None or n > MAX_RANKS:
        return None
    return total_ns / n * np.exp2(first_values(vec, n) / LOAD_STEPS)


def by_rank(trace: Trace) -> list[CostRow]:
    """Return a row per rank.

    Times of a rank are its measured totals, within 5 %, where the trace stores them, else None: histograms
    are of all ranks together. The only rank of a trace has all times.
    """
    check_visits(trace)
    times = whole_time(trace)
    computation = rank_totals(trace, COMPUTE, times.compute_ns)
    inside = rank_totals(trace, COMM, times.comm_ns)
    rows = []
    for i, rank in enumerate(trace.ranks):
        row = times if len(trace.ranks) == 1 else CostRow(("",))
        row = replace(row, key=(str(rank),))
        for ncalls, sent, received, estimated in traffic_of(trace, rank):
            is_exact = len(trace.ranks) == 1 or not estimated
            row.add_traffic(ncalls, *((sent, received) if is_exact else (None, None)))
        if len(trace.ranks) > 1:
            row.compute_ns = None if computation is None else float(computation[i])
            row.comm_ns = None if inside is None else float(inside[i])
        rows.append(row)
    return rows
