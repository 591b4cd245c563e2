"""Symbols of calls, equal for calls that match across ranks: operation, call site, distance of the
partner.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from scalatrace.extrap.lossy.calls import Calls
from scalatrace.extrap.lossy.links import Links
from scalatrace.operations import operation
from scalatrace.trace.query.walk import Call
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["Places", "symbols_of"]


@dataclass
class Places:
    """Places of the ranks of one trace."""

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


def symbols_of(calls: Calls, links: Links, places: Places) -> list[Hashable]:
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
