"""What-if factors on computation times and message sizes (dissertation, §3.5.1).

A factor is for all calls, for an operation or for a call site. Counts are scaled where a handler reads an
event, so that everything derived from them (buffers, displacements, verification) is scaled too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

from scalatrace.errors import UsageError
from scalatrace.operations import operation
from scalatrace.replay.common.view import AnyCall, View
from scalatrace.scaling import COUNTS, DISPLACEMENTS, SCALED, VECTORS, is_room, parse_factor, scaled
from scalatrace.trace.model.sites import Range, parse_site, passes, spelled

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.model.nodes import Event
    from scalatrace.trace.model.trace_tables import TraceTables
    from scalatrace.trace.query.walk import Place


@dataclass(frozen=True)
class Rule:
    """Factors for the calls of an operation, or those that pass a call site.

    Attributes:
        op: without `MPI_`; "" for any.
        site: None for any.
        compute: on the computation before these calls.
        nbytes: on the elements of their messages.
    """

    op: str = ""
    site: Range | None = None
    compute: float = 1.0
    nbytes: float = 1.0

    @property
    def everywhere(self) -> bool:
        """Whether the rule is for all calls."""
        return not self.op and self.site is None

    def holds(self, trace: TraceTables, node: Event) -> bool:
        """Say whether the calls of a node are meant."""
        if self.op and self.op != trace.ops[node.op].name:
            return False
        return self.site is None or passes(trace.stack(node.signature), self.site)

    def __str__(self) -> str:
        return self.op or (spelled(self.site) if self.site else "all")


def parse_rule(where: str, factors: str) -> Rule:
    """`"lu.py:128", "compute=0.5,bytes=2"` or `"Allreduce", "bytes=4"`. Raises UsageError."""
    factors_of = {"compute": 1.0, "bytes": 1.0}
    for part in factors.split(","):
        name, _, number = part.partition("=")
        if name not in factors_of:
            raise UsageError(f"--at {where} {factors}: {part!r} is not compute=F or bytes=F")
        factors_of[name] = parse_factor(number)
    values = {"compute": factors_of["compute"], "nbytes": factors_of["bytes"]}
    name = where.removeprefix("MPI_")
    if name.isidentifier():
        return Rule(op=name[:1].upper() + name[1:], **values)  # type: ignore[arg-type]
    return Rule(site=parse_site(where), **values)  # type: ignore[arg-type]


class WhatIf:
    """All rules; factors of several that hold for a call are multiplied."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self.rules = tuple(rule for rule in rules if (rule.compute, rule.nbytes) != (1.0, 1.0))
        self._compute: dict[Place, float] = {}
        self._nbytes: dict[Place, float] = {}

    @cached_property
    def max_nbytes_factor(self) -> int:
        """The factor of receives: the largest factor that a sender may have, rounded up."""
        return ceil(
            _product(rule.nbytes if rule.everywhere else max(1.0, rule.nbytes) for rule in self.rules)
        )

    @cached_property
    def _uniform(self) -> bool:
        """Whether all messages have the same factor."""
        return all(rule.everywhere or rule.nbytes == 1.0 for rule in self.rules)

    @property
    def scales_nbytes(self) -> bool:
        """Say whether any message has another size."""
        return any(rule.nbytes != 1.0 for rule in self.rules)

    def compute(self, place: Place) -> float:
        """Return the factor on the computation before the calls of a place."""
        if place not in self._compute:
            self._compute[place] = _product(
                rule.compute for rule in self.rules if rule.holds(place.trace, place.node)
            )
        return self._compute[place]

    def nbytes(self, place: Place) -> float:
        """Return the factor on the elements that the calls of a place send."""
        if place not in self._nbytes:
            is_scaled = operation(place.op.name).category in SCALED
            rules = self.rules if is_scaled else ()
            self._nbytes[place] = _product(
                rule.nbytes for rule in rules if rule.holds(place.trace, place.node)
            )
        return self._nbytes[place]

    def view(self, event: AnyCall) -> AnyCall:
        """Return the event as it is to be replayed."""
        if not self.scales_nbytes:
            return event
        factor = self.nbytes(event.place)
        if "partitions" in event and "source" in event and not self._uniform:
            factor = self.max_nbytes_factor  # its sender may have another factor
        if operation(event.op).category not in SCALED or factor == self.max_nbytes_factor == 1:
            return event
        return Scaled(event, factor, self.max_nbytes_factor)

    def unused(self, trace: Trace) -> list[Rule]:
        """Return the rules that hold for no call of the trace."""
        leaves = list(trace.leaves())
        return [rule for rule in self.rules if not any(rule.holds(trace, leaf) for leaf in leaves)]


def _product(factors: Iterator[float]) -> float:
    product = 1.0
    for factor in factors:
        product *= factor
    return product


class Scaled(View):
    """An event with scaled counts. Displacements are scaled so that pieces do not overlap."""

    __slots__ = ("_room", "_sent")

    def __init__(self, event: AnyCall, sent: float, room: float) -> None:
        super().__init__(event)
        self._sent, self._room = sent, room

    def __getitem__(self, name: str) -> Any:
        value = self._call[name]
        if name in COUNTS:
            return scaled(value, self._factor(name))
        if isinstance(value, tuple) and name in VECTORS:
            return tuple(scaled(n, self._factor(name)) for n in value)
        if isinstance(value, tuple) and name in DISPLACEMENTS:
            apart = max(1, ceil(self._sent))
            return tuple(n * apart for n in value)
        return value

    def _factor(self, name: str) -> float:
        return self._room if is_room(self.op, name, self._call) else self._sent
