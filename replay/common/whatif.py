"""Apply what-if factors to the calls of a walk.

Counts are scaled where a handler reads an event, so that everything derived from them (buffers,
displacements, verification) is scaled too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scalatrace.operations import operation
from scalatrace.replay.common.view import AnyCall, View
from scalatrace.scaling import COUNTS, DISPLACEMENTS, SCALED, VECTORS, scaled, spread
from scalatrace.trace.query.factors import FactorRule, Factors

if TYPE_CHECKING:
    from scalatrace.trace.query.walk import CompiledEvent


class WhatIf(Factors):
    """Factors of the calls of one rank."""

    def __init__(self, rules: tuple[FactorRule, ...] = ()) -> None:
        super().__init__(rules)
        self._compute: dict[CompiledEvent, float] = {}
        self._nbytes: dict[CompiledEvent, Fraction] = {}

    def compute(self, place: CompiledEvent) -> float:
        """Return the factor on the computation before the calls of a place."""
        if place not in self._compute:
            self._compute[place] = self.compute_of(place.op.name, _stack(place))
        return self._compute[place]

    def nbytes(self, place: CompiledEvent) -> Fraction:
        """Return the factor on the elements that the calls of a place send."""
        if place not in self._nbytes:
            self._nbytes[place] = self.nbytes_of(place.op.name, _stack(place))
        return self._nbytes[place]

    def view(self, event: AnyCall) -> AnyCall:
        """Return the event as it is to be replayed."""
        if not self.scales_nbytes or operation(event.op).category not in SCALED:
            return event
        factor = self.sent_factor(self.nbytes(event.place), event.place.names)
        if factor == self.max_nbytes_factor == 1:
            return event
        return Scaled(event, self, factor)


def _stack(place: CompiledEvent) -> tuple[str, ...]:
    return tuple(place.trace.stack(place.node.signature))


class Scaled(View):
    """An event with scaled counts. Displacements are scaled so that pieces do not overlap."""

    __slots__ = ("_factors", "_sent")

    def __init__(self, event: AnyCall, factors: Factors, sent: Fraction) -> None:
        super().__init__(event)
        self._factors, self._sent = factors, sent

    def __getitem__(self, name: str) -> Any:
        value = self._call[name]
        if name in COUNTS:
            return scaled(value, self._factor(name))
        if isinstance(value, tuple) and name in VECTORS:
            return tuple(scaled(n, self._factor(name)) for n in value)
        if isinstance(value, tuple) and name in DISPLACEMENTS:
            apart = spread(self._sent)
            return tuple(n * apart for n in value)
        return value

    def _factor(self, name: str) -> Fraction:
        return self._factors.count_factor(self.op, name, self.place.names, self._sent)
