"""A field: a quantity by formulas, as parts with a condition on the ranks and a formula per integer.

Conditions and formulas are expressions over a rank's place in a grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scalatrace.formula import TRUE, Cond, Const, Expr, Value

__all__ = [
    "CYCLE",
    "ELEMENTS",
    "EVERYWHERE",
    "INDEXED",
    "LOOPED",
    "RANKWISE",
    "SUMMED_ELEMENTS",
    "Field",
    "Part",
    "Shape",
    "Step",
    "levels_of",
    "runs_once",
]

CYCLE = "cycle"
"""Shape of a vec that repeats the same few values; a formula for each."""

INDEXED = "indexed"
"""Shape of a vec that follows a formula over the number `i` of an execution; its formulas: length, value."""

LOOPED = "looped"
"""Shape of a vec that follows a formula over the iterations of the loops around it (`counters.py`); its
formulas: how many of the innermost loops it depends on, value. Of a repeat, 0 is the same as nothing."""

ELEMENTS, SUMMED_ELEMENTS = "elements", "summed elements"
"""Shapes of an array whose elements, or whose counts if it has their sums, follow a formula over their index
`i` and the iterations of the loops around the call; its formulas: how many of the innermost loops the array
depends on (0: it is the same in all executions), length, element."""

EVERYWHERE: Cond = TRUE
"""The condition that holds on all ranks."""

RANKWISE = frozenset("rxyzw")
"""Names that differ from rank to rank: the rank, and its coordinates."""

Step = tuple[int, int]
"""Of a search for a field: the effort, and the number of the partition of the ranks into classes."""

Shape = Any
"""None for an integer, a tuple for what has parts; hashable."""


@dataclass(frozen=True, slots=True)
class Part:
    """Shape and formulas on the ranks where `condition` holds; both None: no value.

    Attributes:
        rivals: formulas, or parts of them, each with another one that gives the same values in all traces.
            Where the two differ, the traces do not show which is right.
    """

    condition: Cond
    shape: Shape
    formulas: tuple[Value, ...] | None
    rivals: tuple[tuple[Expr, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A quantity as a list of parts: the first part whose condition holds counts.

    Attributes:
        parts: in order.
        cost: what its formulas weigh and what they take in a trace, to choose between fields.
        weight: what its formulas weigh: the simpler, the less.
        step: of the search that found it.
    """

    parts: tuple[Part, ...]
    cost: float = 0.0
    weight: float = 0.0
    step: Step = field(default=(0, 0), compare=False)


def levels_of(part: Part) -> int:
    """Return the number of loops, the innermost ones, that a LOOPED part, or one of arrays, depends on."""
    assert part.formulas is not None
    levels = part.formulas[0]
    assert isinstance(levels, Const)
    return levels.value


def runs_once(repeat: Field) -> bool:
    """Return whether a repeat is 1 everywhere, so that it is not counted as a loop."""
    return (
        len(repeat.parts) == 1 and repeat.parts[0].shape is None and repeat.parts[0].formulas == (Const(1),)
    )
