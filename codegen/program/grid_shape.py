"""The grid of a benchmark whose size is given when it runs: sides, coordinates, parameters, what it asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from scalatrace.codegen.errors import GenerateError
from scalatrace.formula import Binary, Called, Cond, Expr, Value, Var, children
from scalatrace.trace.model.symbolic import Rule, SymbolicTrace, events
from scalatrace.trace.symbolic.grid import balanced
from scalatrace.trace.values.ranklist import MAX_RANK

__all__ = ["LIMIT", "Array", "GridShape", "Requirement", "shape_of"]

LIMIT = MAX_RANK + 1
"""What is below this are numbers of ranks and coordinates."""

MAX_PARAMETER = 1 << 62
"""What is below this are parameters."""

GridRun = tuple[tuple[int, ...], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What has to hold on every rank, and what is wrong where it does not."""

    cond: Cond
    complaint: str


@dataclass(frozen=True, slots=True)
class Array:
    """An array whose length and elements are worked out at run time."""

    length: Expr
    variable: Var
    element: Value


@dataclass(frozen=True)
class GridShape:
    """A grid of ranks.

    Attributes:
        sizes: names of its sides, that of the first dimension first.
        column_major: whether the first coordinate varies fastest, not the last.
        inputs: the program's parameters.
        seen: per trace that it was made from: sides and parameters.
        powers: whether the sides are powers of two, in the ratios of the traces.
        slices: per family of communicators the dimensions that vary within one; None: it is no slice.
        requirements: what sides and parameters have to be beyond that.
        arrays: number of an array -> how it is made.
    """

    sizes: tuple[str, ...]
    column_major: bool
    inputs: tuple[str, ...]
    seen: tuple[GridRun, ...]
    powers: bool = False
    slices: tuple[tuple[int, ...] | None, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    arrays: Mapping[int, Array] = field(default_factory=dict)

    @property
    def coords(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(name.lower() for name in self.sizes)

    @property
    def least(self) -> tuple[int, ...]:
        """The least sides: what borders do in a grid of one row no trace shows, unless one has one."""
        return tuple(min(2, *(dims[axis] for dims, _ in self.seen)) for axis in range(len(self.sizes)))

    @property
    def square(self) -> bool:
        """Whether all sides are equal, since they were in all traces."""
        return len(self.sizes) > 1 and all(len(set(dims)) == 1 for dims, _ in self.seen)

    @property
    def ratios(self) -> tuple[tuple[int, ...], ...]:
        """Of powers of two: the sides of the traces, divided by the shortest."""
        return tuple(sorted({tuple(side // min(dims) for side in dims) for dims, _ in self.seen}))

    @property
    def rule(self) -> str:
        """How sides follow from the number of ranks: "square", "falling", "rising", or "" for no rule."""
        if self.square:
            return "square"
        if self._by(balanced):
            return "falling"
        return "rising" if self._by(lambda n, d: balanced(n, d)[::-1]) else ""

    def _by(self, rule: Callable[[int, int], tuple[int, ...]]) -> bool:
        return all(dims == rule(prod(dims), len(dims)) for dims, _ in self.seen)

    def smallest(self, name: str) -> int:
        """The least value of a parameter: where it was positive in all traces it has to be."""
        seen = min(inputs[name] for _, inputs in self.seen)
        return 1 if seen > 0 else min(0, seen)

    def default(self, name: str) -> int | None:
        """The value of a parameter that is not given: that of all traces, if they have one."""
        values = {inputs[name] for _, inputs in self.seen}
        return values.pop() if len(values) == 1 else None

    def variables(self) -> dict[str, Var]:
        """The variables that formulas may use, by their names there."""
        sides = zip(self.sizes, self.least, strict=True)
        variables = {name: Var(name, LIMIT, low) for name, low in sides}
        variables |= {name: Var(name, LIMIT) for name in self.coords}
        variables |= {name: Var(name, MAX_PARAMETER, self.smallest(name)) for name in self.inputs}
        variables["r"] = Var("rank", LIMIT)
        if len(self.sizes) == 1:
            return variables | {"P": variables["X"], "x": variables["r"]}
        return variables | {"P": Var("P", LIMIT, prod(self.least))}


_VARIABLE = re.compile(r"rank|element|num_tasks|i\d+")
"""Variables of expressions: the own rank, elements of arrays, tasks, iterations of loops."""


def shape_of(model: SymbolicTrace) -> GridShape:
    """The grid of a symbolic trace's programs.

    Raises:
        GenerateError: a parameter has the name of a variable in programs.
    """
    for name in model.inputs:
        if _VARIABLE.fullmatch(name):
            raise GenerateError(
                f"a parameter is called {name}, as a variable of generated programs: record and "
                "extrapolate with another name (--param, --inputs)"
            )
    if any(family.count is not None for family in model.families):
        raise GenerateError(
            "communicators are split as often as the number of ranks has prime factors: no scalable program "
            "declares them; extrapolate to a number of ranks and generate from that trace"
        )
    powers = any(_has_powers(formula) for rule in events(model.nodes) for formula in _formulas(rule))
    seen = tuple((tuple(dims), dict(inputs)) for dims, inputs in model.seen)
    even = all(side.bit_count() == 1 for dims, _ in seen for side in dims)
    slices = tuple(family.slices for family in model.families)
    return GridShape(model.sizes, model.column_major, model.inputs, seen, powers and even, slices)


def _formulas(rule: Rule) -> list[Value]:
    fields = [rule.repeat, *(param.field for param in rule.params)]
    return [formula for f in fields for part in f.parts for formula in part.formulas or ()]


def _has_powers(part: Value | Cond) -> bool:
    """Whether a formula computes with powers of two."""
    is_power = (isinstance(part, Called) and part.name == "log2") or (
        isinstance(part, Binary) and part.op in ("<<", ">>")
    )
    return is_power or any(map(_has_powers, children(part)))
