"""Collect the collective calls of a trace, by operation, communicator and size, and make points to measure.

Each rank collects its own calls; one merges them. A point stands for all calls of an operation on
communicators of one size, with about the same number of bytes:

    allreduce   4 ranks   8 B      1,200 calls    arrivals 0 us, 3 us, 1 us, 12 us

Arrivals are the usual computation before the calls of a call site, times the load of the rank.
Blocks of different sizes (Alltoallv) are measured as equal blocks of the same sum.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from scalatrace.compilers.timed import TIMED_COLLECTIVES
from scalatrace.operations import Category, Operation, operation
from scalatrace.trace.exchange.blocks import collective_blocks
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.query.load import COMPUTE, Loads
from scalatrace.trace.query.summaries import bytes_estimated

if TYPE_CHECKING:
    from scalatrace.trace.model.call import Call
    from scalatrace.trace.model.nodes import Event
    from scalatrace.trace.model.trace import Trace

__all__ = [
    "OWN_OPERATION", "REDUCTIONS", "CollectedCalls", "CollectivePoint", "LeftOutCalls",
    "collect_calls", "merge_calls",
]  # fmt: skip

REDUCTIONS = frozenset({"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"})

ONE_VECTOR = frozenset({"barrier", "bcast", "reduce", "allreduce", "scan", "exscan"})
"""Operations whose bytes do not grow with the number of ranks."""

BINS_PER_OCTAVE = 2
"""Sizes within a factor of 2^(1/2) are one point."""

MAX_BYTES = 1 << 31
"""Bytes of all blocks from which on counts and places do not fit an int."""

USER_OPERATION = "user"
"""Stored operation of reductions that the program made by MPI_Op_create."""

_NOT_BY_SETTINGS = "nonblocking or persistent"
_OTHER_KIND = "no algorithms to choose"
_BETWEEN_GROUPS = "intercommunicator"
_HISTOGRAM = "sizes kept as histograms"
_TOO_LARGE = "2 GiB or more"
OWN_OPERATION = "reduction by an operation of the program"


@dataclass(frozen=True)
class LeftOutCalls:
    """Collective calls that are not measured.

    Attributes:
        calls: of all ranks.
        reason: why.
    """

    op: str
    reason: str
    calls: int


@dataclass(frozen=True)
class CollectedCalls:
    """Calls of one rank.

    Attributes:
        family, first: communicator: its family, and its first member's world rank.
        members: world ranks in communicator order; () but on its first member.
        block: bytes of the vector, or for each rank.
        element: bytes of an element of a reduction: 8, 4 or 1; 1 for other operations.
        calls: number of calls of this rank.
        before_ns: usual computation before them.
    """

    op: str
    family: int
    first: int
    size: int
    members: tuple[int, ...]
    block: float
    element: int
    root: int
    calls: int
    before_ns: float


@dataclass(frozen=True)
class CollectivePoint:
    """Calls that are measured together.

    Attributes:
        size: ranks of each communicator.
        block: bytes of the vector, or for each rank.
        element: bytes of an element of a reduction.
        calls: of a rank, on average over all ranks of the trace.
        groups: world ranks of the communicators that make the call at the same time.
        arrivals_ns: for each group, how much later than the first each member comes.
    """

    op: str
    size: int
    block: int
    element: int
    root: int
    calls: float
    groups: tuple[tuple[int, ...], ...]
    arrivals_ns: tuple[tuple[float, ...], ...]

    @property
    def total_bytes(self) -> int:
        """Bytes of the largest buffer of a call."""
        return self.block if self.op in ONE_VECTOR else self.block * self.size


def collect_calls(trace: Trace, rank: int) -> tuple[list[CollectedCalls], list[LeftOutCalls]]:
    """Return the collective calls of a rank, and those that are left out.

    Raises:
        LimitError: too many different calls.
    """
    factor = Loads(trace, COMPUTE).over_means(rank)
    left_out: Counter[tuple[str, str]] = Counter()
    sums: defaultdict[tuple[str, int, int, int, int, float], list[float]] = defaultdict(lambda: [0, 0.0])
    communicators: dict[tuple[int, int], tuple[int, ...]] = {}
    for event, times in executions_of(trace, rank):
        row = operation(trace.ops[event.op].name)
        if not row.collective and row.category is not Category.NEIGHBOUR:
            continue
        if reason := _why_not(trace, event, row):
            left_out[row.base, reason] += times
            continue
        before_ns = factor * _usual_before(trace, event)
        for call, n in counted_calls(trace, event, rank, times, lambda op, name: True):
            if call.comm.remote is not None:
                left_out[row.base, _BETWEEN_GROUPS] += n
            elif call.get("op") == USER_OPERATION:
                left_out[row.base, OWN_OPERATION] += n
            elif (block := collective_blocks(call).mean_nbytes) * call.comm.size >= MAX_BYTES:
                left_out[row.base, _TOO_LARGE] += n
            elif call.comm.size > 1:
                first = call.comm.members[0]
                communicators[call.family, first] = tuple(call.comm.members)
                key = (
                    row.base.lower(),
                    call.family,
                    first,
                    _element(call),
                    max(call.get("root", 0), 0),
                    block,
                )
                sums[key][0] += n
                sums[key][1] += n * before_ns
    calls = [
        CollectedCalls(
            op, family, first, len(members := communicators[family, first]), members if first == rank else (),
            block, element, root, int(n), ns / n,
        )
        for (op, family, first, element, root, block), (n, ns) in sums.items()
    ]  # fmt: skip
    return calls, [LeftOutCalls(op, reason, n) for (op, reason), n in sorted(left_out.items())]


def _why_not(trace: Trace, event: Event, row: Operation) -> str:
    if row.nonblocking or row.flow_later:
        return _NOT_BY_SETTINGS
    if row.base.lower() not in TIMED_COLLECTIVES:
        return _OTHER_KIND
    return _HISTOGRAM if bytes_estimated(trace, event) else ""


def _usual_before(trace: Trace, event: Event) -> float:
    """Return the computation before most calls of a node, ns: the median over calls of their contexts' means.

    The computation before a first call contains the start-up of the program, and is not usual.
    """
    index = trace.stat_index.get(COMPUTE)
    if index is None:
        return 0.0
    histograms = [histogram for _, histogram in event.histograms_by_pred(index) if histogram.count]
    means = sorted((histogram.total / histogram.count, histogram.count) for histogram in histograms)
    half, counted = sum(count for _, count in means) / 2, 0
    for mean, count in means:
        counted += count
        if counted >= half:
            return mean * trace.stats[index].resolution
    return 0.0


def _element(call: Call) -> int:
    if operation(call.op).base.lower() not in REDUCTIONS:
        return 1
    size = getattr(call.get("datatype"), "size", 1)
    return 8 if size and size % 8 == 0 else 4 if size == 4 else 1


@dataclass
class _PointCalls:
    """Calls of one operation on communicators of one size, with about the same number of bytes."""

    blocks: Counter[tuple[float, int, int]] = field(default_factory=Counter)
    calls: int = 0
    families: Counter[int] = field(default_factory=Counter)
    before: dict[tuple[int, int], dict[int, list[float]]] = field(default_factory=dict)


def merge_calls(by_rank: Sequence[Iterable[CollectedCalls]]) -> list[CollectivePoint]:
    """Return the points of all ranks, in order of operation, size and bytes.

    Args:
        by_rank: the calls of each rank.
    """
    bins: defaultdict[tuple[str, int, int], _PointCalls] = defaultdict(_PointCalls)
    members: dict[tuple[int, int], tuple[int, ...]] = {}
    for rank, calls in enumerate(by_rank):
        for entry in calls:
            if entry.members:
                members[entry.family, entry.first] = entry.members
            merged = bins[entry.op, entry.size, _bin_of(entry)]
            merged.blocks[entry.block, entry.element, entry.root] += entry.calls
            merged.calls += entry.calls
            merged.families[entry.family] += entry.calls
            times = merged.before.setdefault((entry.family, entry.first), {}).setdefault(rank, [0, 0.0])
            times[0] += entry.calls
            times[1] += entry.calls * entry.before_ns
    nranks = max(1, len(by_rank))
    points = [_point(op, size, merged, members, nranks) for (op, size, _), merged in bins.items()]
    return sorted(points, key=lambda point: (TIMED_COLLECTIVES.index(point.op), point.size, point.block))


def _bin_of(entry: CollectedCalls) -> int:
    """Return the number of the bin; ranks of an Alltoallv may send different amounts, so it has one bin."""
    if entry.op == "alltoallv" or entry.block < 1:
        return 0
    return 1 + round(BINS_PER_OCTAVE * log2(entry.block))


def _point(
    op: str, size: int, merged: _PointCalls, members: dict[tuple[int, int], tuple[int, ...]], nranks: int
) -> CollectivePoint:
    (block, element, root), _ = max(merged.blocks.items(), key=lambda item: (item[1], item[0]))
    if op == "alltoallv":
        block = sum(b * n for (b, _, _), n in merged.blocks.items()) / merged.calls
    family = max(merged.families, key=lambda number: (merged.families[number], -number))
    groups, arrivals = [], []
    for (number, first), before in sorted(merged.before.items()):
        if number != family:
            continue
        group = members[family, first]
        means = [times[1] / times[0] if (times := before.get(rank)) else 0.0 for rank in group]
        groups.append(group)
        arrivals.append(tuple(ns - min(means) for ns in means))
    whole = max(element, element * round(block / element)) if block else 0
    return CollectivePoint(
        op, size, whole, element, root, merged.calls / nranks, tuple(groups), tuple(arrivals)
    )
