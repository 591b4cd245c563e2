"""Intervals of a bulk-synchronous trace: the computation between collective calls that synchronise all ranks.

Each rank's computation before a synchronising call, and before the calls since the last one, belongs to the
interval that the call ends. The order is that of the tree, where a loop begins again after its last call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scalatrace.operations import operation
from scalatrace.trace.model.callsite import Stack
from scalatrace.trace.model.nodes import Event, Node, events
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMPUTE
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec

__all__ = ["ComputeInterval", "Work", "intervals", "synchronises"]

MAX_TIMES_ONCE = 1.5
"""Computations of a rank, on average, up to which something happens once in the run."""


@dataclass(frozen=True)
class Work:
    """The computation before the calls of one event node after one predecessor.

    Attributes:
        times: histogram over all ranks and executions.
        per_interval: mean number of such computations of a rank in an interval.
        resolution: ns of a unit of the histogram.
    """

    times: Histogram
    per_interval: float
    resolution: float


@dataclass(frozen=True)
class ComputeInterval:
    """Intervals that end with the same call.

    Attributes:
        op, stack: of the call that ends them.
        count: how many a rank has.
        works: its computation.
    """

    op: str
    stack: Stack
    count: int
    works: tuple[Work, ...]

    @property
    def mean_ns(self) -> float:
        """Mean computation of a rank in one interval."""
        return sum(work.times.mean * work.per_interval * work.resolution for work in self.works)


def intervals(trace: Trace) -> list[ComputeInterval]:
    """Return the intervals of a trace in the order of the calls that end them.

    Computation after the last synchronising call, in start-up and in shut-down belongs to none. Empty without
    recorded times.
    """
    trace = trace.without_phases
    index = trace.stat_index.get(COMPUTE)
    if index is None:
        return []
    members: dict[int, tuple[Event, list[Event]]] = {}
    for event, end in _assign_events(trace, trace.nodes, loops=False):
        members.setdefault(id(end), (end, []))[1].append(event)
    unit = trace.stats[index].resolution
    return [
        interval
        for end, inside in members.values()
        for interval in _intervals_of(trace, end, inside, index, unit)
    ]


def _intervals_of(
    trace: Trace, end: Event, inside: list[Event], index: int, unit: float
) -> Iterator[ComputeInterval]:
    """Yield the intervals that end with a call: the usual ones, and one with what a rank computes once only.

    The first iteration of a loop comes after other calls, or after the start of the program, and may compute
    something else.
    """
    ranks = len(trace.ranks)
    count = round(sum(h.count for h in _histograms(end, index)) / ranks)
    if not count:
        return
    runs = [(h, h.count / ranks) for event in inside for h in _histograms(event, index)]
    once = [(h, times) for h, times in runs if times <= MAX_TIMES_ONCE] if count > MAX_TIMES_ONCE else []
    usual = [run for run in runs if run not in once]
    op, stack = trace.ops[end.op].name, trace.stack(end.signature)
    for number, part in ((1, once), (count, usual)):
        works = tuple(Work(h, _per_interval(times, number), unit) for h, times in part)
        if works:
            yield ComputeInterval(op, stack, number, works)


def _per_interval(times: float, count: int) -> float:
    """Return how often something is computed in an interval; one interval more or less does not count."""
    mean = times / count
    integer = round(mean)
    return float(integer) if integer and abs(mean - integer) * count <= MAX_TIMES_ONCE * integer else mean


def _histograms(event: Event, index: int) -> list[Histogram]:
    return [histogram for _, histogram in event.histograms_by_pred(index) if histogram.count]


def _assign_events(trace: Trace, nodes: Sequence[Node], loops: bool) -> Iterator[tuple[Event, Event]]:
    """Yield each event with the synchronising event that ends its interval."""
    pending: list[Event] = []
    first: Event | None = None
    for node in nodes:
        if not isinstance(node, Event) and _synchronises(trace, node):
            inner = list(_assign_events(trace, node.nodes, loops=True))
            start = next(end for _, end in inner)
            yield from ((event, start) for event in pending)
            yield from inner
            first, pending = first or start, []
            continue
        pending += [node] if isinstance(node, Event) else list(events([node]))
        if isinstance(node, Event) and _ends(trace, node):
            yield from ((event, node) for event in pending)
            first, pending = first or node, []
    if loops and first is not None:
        yield from ((event, first) for event in pending)


def synchronises(trace: Trace) -> bool:
    """Return whether any call of a trace synchronises all ranks."""
    return any(_ends(trace, leaf) for leaf in trace.leaves())


def _synchronises(trace: Trace, node: Node) -> bool:
    return any(_ends(trace, leaf) for leaf in events([node]))


def _ends(trace: Trace, event: Event) -> bool:
    """Whether a call synchronises all ranks of the run, on any communicator that has them."""
    op = trace.ops[event.op]
    if not operation(op.name).needs_all and op.name != "Finalize":
        return False
    names = [name for name, _ in op.params]
    if "comm" not in names:
        return True
    comm = event.params[names.index("comm")]
    return isinstance(comm, Vec) and comm.constant is not None and trace.is_world(comm.constant)
