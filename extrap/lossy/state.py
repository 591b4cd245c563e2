"""State of an input trace while calls are dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scalatrace.extrap.alignment.rank_tree import Key, RankNode, rank_tree
from scalatrace.extrap.choices import ArrayTable
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.lossy.calls import Calls
from scalatrace.extrap.lossy.links import Links, links_of
from scalatrace.extrap.lossy.recompress import Tree, list_overrides, recompress_rank
from scalatrace.extrap.lossy.repair import Repair
from scalatrace.operations import operation
from scalatrace.trace.query.walk import Call
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import UNDEFINED

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["LossyState", "RankDistances", "symbols_of"]


@dataclass
class LossyState:
    """State of one trace: its calls, their dependences, and the remaining ones.

    Attributes:
        trace: a copy whose tables of arrays and predecessors may grow.
        weights: of calls in comparisons, where they are not 1.
        means: calls with their counts that are means, as stored.
    """

    trace: Trace
    calls: Calls
    links: Links
    repair: Repair
    places: RankDistances
    symbols: list[Hashable]
    weights: dict[int, int] = field(default_factory=dict)
    means: dict[int, dict[str, int]] = field(default_factory=dict)
    _trees: list[Tree] = field(default_factory=list)

    @classmethod
    def of(cls, trace: Trace, run: Run) -> LossyState:
        """Return the state of a trace without dropped calls. Raises InputError for too many calls."""
        trace = replace(trace, arrays=list(trace.arrays), preds=list(trace.preds))
        calls = Calls.of(trace)
        links = links_of(calls)
        places = RankDistances(run.grid)
        return cls(trace, calls, links, Repair(calls, links), places, symbols_of(calls, links, places))

    @property
    def whole(self) -> bool:
        """Return whether all calls are those of the trace."""
        return not self.means and not self.calls.marks.any()

    def kept(self, rank: int) -> list[int]:
        """Return the remaining calls of a rank."""
        return [number for number in self.calls.of_rank(rank) if self.calls.kept(number)]

    def counts(self, rank: int) -> dict[Key, int]:
        """Return a rank's remaining calls by operation and stack."""
        result: dict[Key, int] = defaultdict(int)
        for number in self.kept(rank):
            call = self.calls.calls[number]
            result[Key(call.op, call.stack)] += 1
        return result

    def of_keys(self, keys: set[Key]) -> list[int]:
        """Return the remaining calls of these operations and stacks."""
        return [
            number
            for number, call in enumerate(self.calls.calls)
            if self.calls.kept(number) and Key(call.op, call.stack) in keys
        ]

    def trees(self, anew: bool) -> list[tuple[RankNode, ...]]:
        """Return the remaining tree of each rank: compressed anew, or as recorded if no call was dropped."""
        ranks = range(self.trace.nprocs)
        if anew:
            new = list_overrides(self.repair, self.means, ArrayTable(self.trace.arrays))
            self._trees = [recompress_rank(self.calls, rank, self.kept(rank), new) for rank in ranks]
        else:
            by_node: list[dict[int, list[int]]] = [defaultdict(list) for _ in ranks]
            for number, call in enumerate(self.calls.calls):
                by_node[call.rank][id(call.node)].append(number)
            self._trees = [Tree(rank_tree(self.trace, rank), by_node[rank]) for rank in ranks]
        return [tree.nodes for tree in self._trees]

    def calls_of(self, rank: int, local: RankNode) -> Iterator[int]:
        """Return the calls of an event node of `trees`."""
        return iter(self._trees[rank].calls[id(local.event)])


@dataclass
class RankDistances:
    """Distances between ranks on the grid of one trace."""

    grid: Grid
    _known: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)

    def distance(self, a: int, b: int) -> tuple[int, ...]:
        """Return the steps between two ranks along each dimension, the shorter way around."""
        if (a, b) not in self._known:
            columns = self.grid.columns
            steps = [abs(int(columns[name][a]) - int(columns[name][b])) for name in self.grid.coords]
            sides = zip(steps, self.grid.dims, strict=True)
            self._known[a, b] = tuple(min(step, side - step) for step, side in sides)
        return self._known[a, b]

    def of_call(self, call: Call) -> tuple[Hashable, ...]:
        """Return the distance of each partner that a call names, or its special value."""
        return tuple(self.to(call, name) for name in operation(call.op).peers if name in call)

    def to(self, call: Call, name: str) -> Hashable:
        """Return the distance of the rank that a parameter names; special values are unchanged."""
        peer, comm = call.raw(name), call.comm
        if not 0 <= peer < len(comm.peers) or comm.world(peer) == UNDEFINED:
            return peer
        return self.distance(call.rank, comm.world(peer))


def symbols_of(calls: Calls, links: Links, places: RankDistances) -> list[Hashable]:
    """Return a symbol per call. Completions are identified by the calls that they complete."""
    result: list[Hashable] = []
    known: dict[tuple[int, tuple[int, ...]], Hashable] = {}
    for number, call in enumerate(calls.calls):
        if number in links.uses:
            makers = sorted({result[maker] for maker in links.uses[number]}, key=repr)
            result.append((call.op, call.stack, tuple(makers)))
            continue
        key = id(call.place), call.values
        if key not in known:
            known[key] = (call.op, call.stack, places.of_call(call))
        result.append(known[key])
    return result
