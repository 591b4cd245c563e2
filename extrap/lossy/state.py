"""An input trace while calls of it are dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from extrap.local import Local, locals_of
from extrap.lossy.calls import Calls, Marks
from extrap.lossy.filtering import Filter, Leaf, filtered
from extrap.lossy.links import Links, links_of
from extrap.lossy.repair import Repair
from extrap.lossy.symbols import Places, symbols_of
from extrap.lossy.values import Arrays, Overrides, overrides
from extrap.space import Run

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["State"]


@dataclass
class State:
    """One trace: its calls, what depends on what, and what is left.

    Attributes:
        trace: a copy whose table of arrays may grow.
        weights: of calls in comparisons, where they are not 1.
    """

    trace: Trace
    calls: Calls
    links: Links
    repair: Repair
    places: Places
    symbols: list[Hashable]
    weights: dict[int, int] = field(default_factory=dict)
    _trees: list[tuple[Local, ...]] = field(default_factory=list)
    _by_node: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _origin: dict[int, int] = field(default_factory=dict)
    _shown: Marks = field(default_factory=lambda: np.zeros(0, dtype=np.int8))

    @classmethod
    def of(cls, trace: Trace, run: Run) -> State:
        """A trace of which nothing is dropped yet. Raises InputError when it has too many calls."""
        trace = replace(trace, arrays=list(trace.arrays))
        calls = Calls.of(trace)
        links = links_of(calls)
        places = Places(run.grid)
        made = cls(trace, calls, links, Repair(calls, links), places, symbols_of(calls, links, places))
        made._trees = [locals_of(trace, rank) for rank in range(trace.nprocs)]
        by_node = defaultdict(list)
        for number, call in enumerate(calls.calls):
            by_node[call.rank, id(call.node)].append(number)
        made._by_node = dict(by_node)
        return made

    def trees(self) -> list[tuple[Local, ...]]:
        """What is left of each rank."""
        new = overrides(self.repair, Arrays(self.trace.arrays))
        self._origin, self._shown = {}, self.calls.marks.copy()
        found = []
        for rank, tree in enumerate(self._trees):
            what = self._filter(rank, new)
            found.append(filtered(tree, rank, what) if what.leaves else tree)
            self._origin.update((made, id(event)) for made, event in what.origin.items())
        return found

    def _filter(self, rank: int, new: Overrides) -> Filter:
        """The nodes of a rank of which something is dropped or changed."""
        leaves = {}
        for (owner, node), numbers in self._by_node.items():
            if owner != rank:
                continue
            kept = np.array([self.calls.kept(number) for number in numbers])
            names = {name for number in numbers for name in new.get(number, ())}
            if kept.all() and not names:
                continue
            place = self.calls.calls[numbers[0]].place
            values = {
                place.names[name]: [
                    new[number][name]
                    if number in new and name in new[number]
                    else self.calls.calls[number].raw(name)
                    for number in numbers
                ]
                for name in names
            }
            leaves[node] = Leaf(kept, values)
        return Filter(leaves)

    def calls_of(self, rank: int, local: Local) -> Iterator[int]:
        """The calls of an event node of `trees`, as they were when those were made."""
        node = id(local.event)
        numbers = self._by_node[rank, self._origin.get(node, node)]
        return (number for number in numbers if not self._shown[number])
