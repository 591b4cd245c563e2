"""Calls whose parameters are drawn from the histograms of a probabilistic trace (§5.2.6).

Each rank samples a peer and a count for each of its sends. The counts of a collective, on which all ranks
must agree, are sampled with a number that depends on the index of the collective on its
communicator, from one distribution for all its calls, independent of its place in the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from scalatrace.operations import SENDING, Category, blocking_name, operation
from scalatrace.replay.common.errors import UnsupportedError
from scalatrace.replay.common.view import AnyCall, View
from scalatrace.replay.probabilistic.shared_random import (
    COUNT,
    PEER,
    SharedRandom,
    Weighted,
    counts_of,
    is_special,
)
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.elastic import at as elastic_at
from scalatrace.trace.model.nodes import Event, Param, Peer
from scalatrace.trace.model.tables import Op
from scalatrace.trace.query.counting import executions, executions_of
from scalatrace.trace.query.walk import calls, distinct_calls
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import PROC_NULL, Vec

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.query.walk import Call, CompiledEvent

MAX_DRAWS = 8
"""Samples of a peer outside the communicator, before the nearest rank in it is taken."""

Group = tuple[str, int, int]
"""Collectives that draw from one distribution: operation, family, size of the datatype."""

WAITING = {"Win_start", "Win_wait", "Win_complete", "Comm_create_group"}
"""Calls that wait for certain other ranks, which may wait for a message to be received here."""

DISPLACEMENTS = {"displs", "sdispls", "rdispls"}


@cache
def counts_of_one_number(op: str) -> tuple[str, ...]:
    """Return the counts of a collective that are derived from one number, which the first count gives."""
    row = operation(op)
    if not row.collective:
        return ()
    # The count that all members give is the first.
    flows = reversed(row.flows) if row.collective == "scatter" else row.flows
    return tuple(dict.fromkeys(flow.count for flow in flows))


def summary_of(param: Param) -> Summary | None:
    """Return the summary of a parameter; None for a parameter with values."""
    value = param.value if isinstance(param, Peer) else param
    return value if isinstance(value, Summary) else None


def histogram_of(op: Op, node: Event, name: str) -> Histogram | None:
    """Return the histogram that an event node has in place of a parameter's values."""
    at = op.index(name)
    summary = None if at is None else summary_of(node.params[at])
    return summary.histogram if summary else None


def is_probabilistic(trace: Trace) -> bool:
    """Say whether any parameter is known by its histogram only."""
    return any(summary_of(param) is not None for leaf in trace.leaves() for param in leaf.params)


def check_sampled(trace: Trace) -> None:
    """Check that all summarised parameters can be sampled.

    Raises:
        UnsupportedError: a parameter was dropped, or its values depend on each other.
    """
    for leaf in trace.leaves():
        op = trace.ops[leaf.op]
        if op.name in WAITING:
            raise UnsupportedError(
                f"MPI_{op.name} waits for some ranks only: it has no place among drawn messages"
            )
        for (name, _), param in zip(op.params, leaf.params, strict=True):
            summary = summary_of(param)
            if summary is None:
                continue
            if summary.histogram is None:
                raise UnsupportedError(f"the {name} of MPI_{op.name} was dropped when the trace was recorded")
            if not _can_be_sampled(op, name):
                raise UnsupportedError(f"MPI_{op.name} cannot be replayed from a histogram of its {name}")


def _can_be_sampled(op: Op, name: str) -> bool:
    category = operation(op.name).category
    if category in SENDING | {Category.RECV, Category.PROBE}:
        return True
    counts = counts_of_one_number(op.name)
    return name in counts or (name in DISPLACEMENTS and bool(counts))


class SampledCall(View):
    """A call with drawn parameters in place of the trace's."""

    __slots__ = ("_sampled",)

    def __init__(self, call: AnyCall, sampled: dict[str, Any], op: str = "") -> None:
        op = op or call.op
        super().__init__(call, op, (op, call.values, *sampled.items()))
        self._sampled = sampled

    def __getitem__(self, name: str) -> Any:
        return self._sampled[name] if name in self._sampled else self._call[name]


class ParameterSampler:
    """Samples the parameters of one rank's calls, in the order of its walk."""

    def __init__(self, trace: Trace, rank: int, seed: int) -> None:
        self._trace, self._rank = trace, rank
        self._random = SharedRandom(seed)
        leaves = enumerate(executions(trace))
        self._call_numbers = {id(leaf): _CallNumbers.of(i, classes, rank) for i, (leaf, classes) in leaves}
        self._shared = shared_counts(trace)
        self._collectives: Counter[Group] = Counter()
        self._peers: dict[CompiledEvent, Weighted | None] = {}
        self._counts: dict[CompiledEvent, tuple[tuple[str, Weighted], ...]] = {}

    def call(self, call: Call) -> AnyCall:
        """Return the call with sampled parameters."""
        category = operation(call.op).category
        if category in SENDING:
            return self._sent(call)
        if category is Category.COLLECTIVE:
            return self._collective(call)
        return call

    def _sent(self, call: Call) -> AnyCall:
        numbers = self._call_numbers[id(call.node)]
        index = numbers.take()
        sampled: dict[str, Any] = {}
        peers = self._peer_values(call.place)
        if peers is not None:
            sampled["dest"] = self._peer(call, peers, numbers, index)
        for name, values in self._count_values(call.place):
            sampled[name] = values.draw(self._random.at(COUNT, numbers.number, index, numbers.total))
        return SampledCall(call, sampled) if sampled else call

    def _peer(self, call: Call, values: Weighted, numbers: _CallNumbers, index: int) -> int:
        param = call.node.params[call.place.names["dest"]]
        assert isinstance(param, Peer)
        comm = call.comm
        own_rank, size = comm.rank, len(comm.peers)
        for attempt in range(MAX_DRAWS):
            encoded = values.draw(self._random.at(PEER, (numbers.number, attempt), index, numbers.total))
            if is_special(encoded):  # no other is a destination
                return PROC_NULL
            peer = param.encoding.decode(encoded, own_rank, size)
            if 0 <= peer < size:
                return peer
        return min(max(peer, 0), size - 1)

    def _peer_values(self, place: CompiledEvent) -> Weighted | None:
        if place not in self._peers:
            histogram = histogram_of(place.op, place.node, "dest")
            self._peers[place] = Weighted.of(histogram.all_bins) if histogram else None
        return self._peers[place]

    def _count_values(self, place: CompiledEvent) -> tuple[tuple[str, Weighted], ...]:
        if place not in self._counts:
            counts = []
            for name in ("count", "sendcount"):
                histogram = histogram_of(place.op, place.node, name)
                bins = counts_of(histogram) if histogram else ()
                if bins:
                    counts.append((name, Weighted.of(bins)))
            self._counts[place] = tuple(counts)
        return self._counts[place]

    def _collective(self, call: Call) -> AnyCall:
        group = group_of_call(call)
        values = self._shared.get(group) if group else None
        if group is None or values is None:
            return call
        index = self._collectives[group]
        self._collectives[group] += 1
        n = values.draw(self._random.at(COUNT, group, index, max(index + 1, self._calls_of[group])))
        return SampledCall(call, dict(self._pieces(call, n, group[2])))

    def _pieces(self, call: Call, n: int, size: int) -> Iterator[tuple[str, Any]]:
        names = counts_of_one_number(call.op)
        npeers = len(call.comm.peers)
        for name in names:
            own_size = type_size(call, name)
            if name in call and own_size:
                count = n * size // own_size
                yield name, (count,) * npeers if name.endswith("s") else count
        for name in DISPLACEMENTS:
            if name in call:
                yield name, tuple(i * n for i in range(npeers))

    @cached_property
    def _calls_of(self) -> Counter[Group]:
        """How many calls of each group this rank makes, and so all ranks of its communicator."""
        result: Counter[Group] = Counter()
        for leaf, times in executions_of(self._trace, self._rank):
            result.update(_groups_of(self._trace, leaf, self._rank, times))
        return result


def shared_counts(trace: Trace) -> dict[Group, Weighted]:
    """Return, for each group of collectives of which a count is a summary, all the counts that it has."""
    bins: dict[Group, list[Bin]] = {}
    drawn: set[Group] = set()
    for leaf, classes in executions(trace):
        summaries = [summary_of(p) for p in leaf.params]
        for ranks, times in classes if counts_of_one_number(trace.ops[leaf.op].name) else ():
            first = _count_of(trace, leaf, ranks.first)
            for group, n in _groups_of(trace, leaf, ranks.first, times).items():
                if any(summaries):
                    drawn.add(group)
                bins.setdefault(group, []).extend(_bins(first, ranks, times, n / times))
    return {group: Weighted.of(result) for group, result in bins.items() if group in drawn and result}


def group_of_call(call: AnyCall) -> Group | None:
    """Return the group of a collective; None when its counts are its own."""
    side = significant(call)
    return (blocking_name(call.op), call.family, side[1]) if side else None


def significant(call: AnyCall) -> tuple[str, int] | None:
    """Return the count that says how much, and the size of its elements; in place there is one side."""
    for name in counts_of_one_number(call.op):
        size = type_size(call, name)
        if name in call and size > 0:
            return name, size
    return None


def _count_of(trace: Trace, leaf: Event, rank: int) -> Param | None:
    """Return the parameter that says how much a leaf's calls are about; None when no one number does."""
    call = next(calls(trace, leaf, rank))
    side = significant(call)
    param = leaf.params[call.place.names[side[0]]] if side else None
    if side and side[0].endswith("s") and not isinstance(param, Summary):
        return None
    return param


def _groups_of(trace: Trace, leaf: Event, rank: int, times: int) -> Counter[Group]:
    """Return how many of a rank's calls of a leaf are of which group."""
    result: Counter[Group] = Counter()
    for call, n in distinct_calls(trace, leaf, rank, times):
        if group := group_of_call(call):
            result[group] += n
    return result


def _bins(param: Param | None, ranks: RankList, times: int, share: float) -> Iterator[Bin]:
    """Yield the counts of a leaf on rank_of_group ranks, as bins, for a share of their calls."""
    if param is None or isinstance(param, Peer):
        return
    if isinstance(param, Summary):
        if param.histogram:
            yield from counts_of(param.histogram, times * len(ranks) * share)
        return
    groups = [(ranks.first, len(ranks))] if isinstance(param, Vec) else [(rank, 1) for rank in ranks]
    for rank, n in groups:
        vec = elastic_at(param, rank)
        if vec is not None and not (vec.constant is not None and is_special(vec.constant)):
            yield _bin(vec, times, n * share)


def _bin(vec: Vec, times: int, nranks: float) -> Bin:
    """Return a bin for the values of calls of several ranks: their mean."""
    weight: Any = times * nranks
    if vec.constant is not None:
        return Bin(weight, vec.constant, vec.constant, vec.constant)
    mean = vec.total(times) / times
    return Bin(weight, mean, mean + 1, mean)


@dataclass
class _CallNumbers:
    """The calls of a leaf on all ranks, numbered rank by rank.

    Attributes:
        number: of the leaf.
        next: number of this rank's next call.
        total: of all ranks.
    """

    number: int
    next: int
    total: int

    @classmethod
    def of(cls, number: int, classes: Sequence[tuple[RankList, int]], rank: int) -> _CallNumbers:
        """Count the calls of all classes of ranks."""
        before = total = 0
        for ranks, times in classes:
            total += times * len(ranks)
            before += times * sum(max(0, min(stop, rank) - start) for start, stop in ranks.runs)
        return cls(number, before, max(1, total))

    def take(self) -> int:
        """Return the number of a call."""
        self.next += 1
        return self.next - 1


def type_size(call: AnyCall, count: str) -> int:
    """Return the size in bytes of the elements that a count is of."""
    side = count[:4]
    name = f"{side}type" if f"{side}type" in call else "datatype"
    return int(getattr(call.get(name), "size", 0))
