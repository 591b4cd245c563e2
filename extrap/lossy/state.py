"""State of an input trace while calls are dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scalatrace.extrap.alignment.rank_tree import Key, RankNode, rank_tree
from scalatrace.extrap.choices.arrays import Arrays
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.lossy.calls import Calls
from scalatrace.extrap.lossy.links import Links, links_of
from scalatrace.extrap.lossy.recompress import Tree, recompressed
from scalatrace.extrap.lossy.repair import Repair
from scalatrace.extrap.lossy.symbols import Places, symbols_of
from scalatrace.extrap.lossy.values import overrides

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["State"]


@dataclass
class State:
    """State of one trace: its calls, their dependences, and the remaining ones.

    Attributes:
        trace: a copy whose tables of arrays and predecessors may grow.
        weights: of calls in comparisons, where they are not 1.
    """

    trace: Trace
    calls: Calls
    links: Links
    repair: Repair
    places: Places
    symbols: list[Hashable]
    weights: dict[int, int] = field(default_factory=dict)
    _trees: list[Tree] = field(default_factory=list)

    @classmethod
    def of(cls, trace: Trace, run: Run) -> State:
        """Return the state of a trace without dropped calls. Raises InputError for too many calls."""
        trace = replace(trace, arrays=list(trace.arrays), preds=list(trace.preds))
        calls = Calls.of(trace)
        links = links_of(calls)
        places = Places(run.grid)
        return cls(trace, calls, links, Repair(calls, links), places, symbols_of(calls, links, places))

    @property
    def whole(self) -> bool:
        """Return whether no call is dropped."""
        return not self.calls.marks.any()

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
            new = overrides(self.repair, Arrays(self.trace.arrays))
            self._trees = [recompressed(self.calls, rank, self.kept(rank), new) for rank in ranks]
        else:
            by_node: list[dict[int, list[int]]] = [defaultdict(list) for _ in ranks]
            for number, call in enumerate(self.calls.calls):
                by_node[call.rank][id(call.node)].append(number)
            self._trees = [Tree(rank_tree(self.trace, rank), by_node[rank]) for rank in ranks]
        return [tree.nodes for tree in self._trees]

    def calls_of(self, rank: int, local: RankNode) -> Iterator[int]:
        """Return the calls of an event node of `trees`."""
        return iter(self._trees[rank].calls[id(local.event)])
