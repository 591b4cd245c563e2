"""Input and result types of a fit: values per point, and classes of ranks with one shape and formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scalatrace.arrays import Ints
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Cond, Value
from scalatrace.trace.model.symbolic import Shape
from scalatrace.trace.symbolic.counters import Chain
from scalatrace.trace.symbolic.shapes import Parts

MAX_INDEXED_VALUES = 1 << 18
"""Values of a class that are looked at one by one."""

EFFORTS = PLAIN, BY_INDEX, BY_LOOPS, MIXED = range(4)
"""What is tried: values of one shape; also formulas over the number of an execution; over iterations of
loops; and classes in which some ranks run something and others do not."""

PER_PART = 3.0
"""What a further part of a field costs, in weights of formulas."""


@dataclass(frozen=True, slots=True)
class Class:
    """Candidate part: points, shape, formulas and their total cost.

    Attributes:
        confirmed: whether the sizes of its own points confirm its formulas; other classes' may do so later.
        rivals: formulas of it, each with another one that has the same values.
        length_weight: the part of its weight that only gives the number of values.
    """

    conditions: tuple[Cond, ...]
    points: Ints
    shape: Shape
    formulas: tuple[Value, ...] | None
    weight: float
    confirmed: bool = True
    rivals: tuple[Rival, ...] = ()
    length_weight: float = 0.0


Samples = Mapping[int, Parts | None]
"""Point -> its value; None: it takes no part. Points that are left out do not matter."""


Chains = Mapping[int, Chain | None]
"""Point -> the loops around the quantity; None: it runs once."""


@dataclass(frozen=True)
class FitInput:
    """Input of a fit: a value per point, and the loops around it.

    Attributes:
        position: where a point is in `values`, -1 for none.
        effort: how much is tried; see EFFORTS.
    """

    space: Space
    position: Ints
    values: list[Parts | None]
    chains: list[Chain | None]
    effort: int

    def of(self, points: Ints) -> list[Parts | None]:
        """Return the values of points."""
        return [self.values[i] for i in self.position[points]]

    def around(self, points: Ints) -> list[Chain | None]:
        """Return the loops of points."""
        return [self.chains[i] for i in self.position[points]]
