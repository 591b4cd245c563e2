"""What if: computation that takes longer or shorter, and messages that are larger or smaller (§3.5.1).

A factor holds for all calls, for an operation or for a call site. Bytes are scaled where a handler reads an
event, so that everything it derives from counts (buffers, displacements, what is verified) follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

from scalatrace.errors import UsageError
from scalatrace.ops import COUNTS, PLACES, SCALED, VECTORS, Category, operation
from scalatrace.replay.common.view import View
from scalatrace.trace.model.sites import Range, parse_site, passes, spelled

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.model.nodes import Event
    from scalatrace.trace.model.trace_tables import TraceTables
    from scalatrace.trace.query.walk import Call, Place


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

    def holds(self, trace: TraceTables, node: Event) -> bool:
        """Say whether the calls of a node are meant."""
        if self.op and self.op != trace.ops[node.op].name:
            return False
        return self.site is None or passes(trace.stack(node.signature), self.site)

    def __str__(self) -> str:
        return self.op or (spelled(self.site) if self.site else "all")


def parse_rule(where: str, factors: str) -> Rule:
    """`"lu.py:128", "compute=0.5,bytes=2"` or `"Allreduce", "bytes=4"`. Raises UsageError."""
    found = {"compute": 1.0, "bytes": 1.0}
    for part in factors.split(","):
        name, _, number = part.partition("=")
        if name not in found:
            raise UsageError(f"--at {where} {factors}: {part!r} is not compute=F or bytes=F")
        found[name] = parse_factor(number)
    values = {"compute": found["compute"], "nbytes": found["bytes"]}
    name = where.removeprefix("MPI_")
    if name.isidentifier():
        return Rule(op=name[:1].upper() + name[1:], **values)  # type: ignore[arg-type]
    return Rule(site=parse_site(where), **values)  # type: ignore[arg-type]


def parse_factor(text: str) -> float:
    """A factor from 0 on. Raises UsageError."""
    try:
        factor = float(text)
    except ValueError:
        factor = -1.0
    if not 0 <= factor < float("inf"):
        raise UsageError(f"{text!r} is not a factor: a number from 0 on")
    return factor


class WhatIf:
    """All rules; factors of several that hold for a call are multiplied."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self.rules = tuple(rule for rule in rules if (rule.compute, rule.nbytes) != (1.0, 1.0))
        self._compute: dict[Place, float] = {}
        self._nbytes: dict[Place, float] = {}

    @cached_property
    def most_nbytes(self) -> int:
        """What receives are scaled by: the largest factor that any sender may have, as a whole number.

        Then there is room whatever datatypes the two sides count in: ceil(m f) <= m ceil(f).
        """
        most = 1.0
        for rule in self.rules:
            everywhere = not rule.op and rule.site is None
            most *= rule.nbytes if everywhere else max(1.0, rule.nbytes)
        return ceil(most)

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
            scaled = operation(place.op.name).category in SCALED
            rules = self.rules if scaled else ()
            self._nbytes[place] = _product(
                rule.nbytes for rule in rules if rule.holds(place.trace, place.node)
            )
        return self._nbytes[place]

    def view(self, event: Call) -> Any:
        """Return the event as it is to be replayed."""
        if not self.scales_nbytes:
            return event
        factor = self.nbytes(event.place)
        category = operation(event.op).category
        all_sides_alike = category in (Category.COLLECTIVE, Category.NEIGHBOUR)
        received = factor if all_sides_alike else self.most_nbytes
        if category not in SCALED or factor == received == 1.0:
            return event
        return Scaled(event, factor, received)

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
    """An event with other counts; displacements grow so far that pieces which did not overlap do not."""

    __slots__ = ("_received", "_sent")

    def __init__(self, event: Call, sent: float, received: float) -> None:
        super().__init__(event)
        self._sent, self._received = sent, received

    def __getitem__(self, name: str) -> Any:
        value = self._event[name]
        if name in COUNTS:
            return scaled(value, self._factor(name))
        if isinstance(value, tuple) and name in VECTORS:
            return tuple(scaled(n, self._factor(name)) for n in value)
        if isinstance(value, tuple) and name in PLACES:
            apart = max(1, ceil(max(self._sent, self._received)))
            return tuple(n * apart for n in value)
        return value

    def _factor(self, name: str) -> float:
        receives = name.startswith("recv") or operation(self._event.op).category is Category.RECV
        receives = receives or (name == "count" and "source" in self._event)  # Recv_init, Sendrecv_replace
        return self._received if receives else self._sent


def scaled(n: int, factor: float) -> int:
    """Return a number of elements times a factor, rounded up: something becomes nothing only times 0."""
    return n if n <= 0 or factor == 1.0 else ceil(n * factor)
