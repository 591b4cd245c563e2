"""Ranks that compute one after another between barriers, as where each writes its part of a file.

    for writer in range(comm.size):
        if rank == writer:
            work()
        comm.Barrier()

A histogram holds the computation of all ranks before all barriers, so a simulation gives each rank a part
of it before each barrier, and all of them compute at once. Three facts show that they do not. Of P
computations, on P ranks, one takes nearly all of the time. A rank spends as long there as all of them compute
together. And no rank computes much more than the others in all.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.operations import operation
from scalatrace.report.costs.rows import rank_totals
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import participants
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.values.histogram import Histogram

__all__ = ["SerialBarriers", "find_serial_barriers"]

MIN_RANKS = 3
"""Of two ranks, the late one computes before half of the barriers, too."""

LONG = 0.25
"""Part of the longest computation from which on one is long."""

MIN_LONG_SHARE, MAX_LONG_COUNT = 0.8, 1.5
"""Part of the computation that long ones have at least, and their number in P computations at most."""

MIN_AT_ONCE, MAX_AT_ONCE = 0.6, 1.4
"""Ranks that compute at a time between such barriers, on average."""


MAX_LOAD = 1.5
"""Computation of a rank over the mean, up to which all ranks may compute in the same way."""


@dataclass(frozen=True)
class SerialBarriers:
    """Time between the calls of a barrier; ns.

    Attributes:
        time_ns: of a rank, in these calls and before them.
        mean_ranks: ranks that compute at a time.
    """

    event: Event
    time_ns: float
    mean_ranks: float


def find_serial_barriers(trace: Trace) -> SerialBarriers | None:
    """Return the serial barriers with the longest time; None: there are none, or no times."""
    if COMM not in trace.stat_index or COMPUTE not in trace.stat_index or len(trace.ranks) < MIN_RANKS:
        return None
    totals = rank_totals(trace, COMPUTE, 1.0)
    if totals is not None and totals.max() > MAX_LOAD * totals.mean():
        return None  # a rank that is late at each barrier computes more than the others
    ranks = participants(trace)
    serial = [
        found
        for event in trace.leaves()
        if operation(trace.ops[event.op].name).collective == "barrier"
        and (found := _serial_barriers(trace, event, len(ranks[id(event)]))) is not None
    ]
    return max(serial, key=lambda found: found.time_ns, default=None)


def _serial_barriers(trace: Trace, event: Event, nranks: int) -> SerialBarriers | None:
    """Return the time between calls of a barrier if ranks compute one after another there."""
    again = next((row for row in event.stats if trace.preds[row.pred] == (event.op, event.signature)), None)
    if again is None or nranks < MIN_RANKS:
        return None
    before, inside = (again.histogram(trace.stat_index[name]) for name in (COMPUTE, COMM))
    if before is None or inside is None or not before.total or not _is_mostly_long(before, nranks):
        return None
    computed_ns, in_calls_ns = (
        histogram.total * trace.stats[trace.stat_index[name]].resolution
        for histogram, name in ((before, COMPUTE), (inside, COMM))
    )
    time_ns = (computed_ns + in_calls_ns) / nranks
    at_once = computed_ns / time_ns
    return SerialBarriers(event, time_ns, at_once) if MIN_AT_ONCE <= at_once <= MAX_AT_ONCE else None


def _is_mostly_long(before: Histogram, nranks: int) -> bool:
    """Return whether one of as many computations as there are ranks takes nearly all of the time."""
    long = [each for each in before.drawn_bins if each.mean >= LONG * before.max]
    return (
        sum(each.count for each in long) <= MAX_LONG_COUNT * before.count / nranks
        and sum(each.count * each.mean for each in long) >= MIN_LONG_SHARE * before.total
    )
