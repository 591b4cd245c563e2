"""Translate formulas of a grid to expressions of tasks: sides are parameters, coordinates follow from tasks.

The language ignores case, so the sides are `x y z`, and the coordinates are expressions of the task: `t / y`
and `t MOD y`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from scalatrace.codegen.conceptual.words import KEYWORDS, PREDECLARED
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.communicators import OWN
from scalatrace.codegen.program.grid_shape import GridShape
from scalatrace.formula import (
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Element,
    Expr,
    Var,
    add,
    bounds,
    mul,
    sub,
)
from scalatrace.formula.rewrite import rewritten, rewritten_cond

__all__ = ["NUM_TASKS", "RANK", "ExprTranslator", "choice_in", "of_task", "replace_part"]

RANK = Var("rank", 1 << 31)
NUM_TASKS = Var("num_tasks", 1 << 31, 1)
TAKEN = frozenset({"t", "u", "c", "r", "s"})


class ExprTranslator:
    """Translates expressions of a shape's variables."""

    def __init__(self, shape: GridShape) -> None:
        self.shape = shape
        least = zip(shape.sizes, shape.least, strict=True)
        self.sides: dict[str, Expr] = {size: Var(size.lower(), 1 << 31, low) for size, low in least}
        if len(shape.sizes) == 1:
            self.sides = {"X": NUM_TASKS}
        taken = TAKEN | set(KEYWORDS) | set(PREDECLARED) | set(shape.coords)
        self.inputs = {name: _name_parameter(name.lower(), taken) for name in shape.inputs}
        if len(set(self.inputs.values())) < len(self.inputs):
            names = ", ".join(shape.inputs)
            raise GenerateError(f"coNCePTuaL ignores case: rename parameters equal but for case ({names})")

    def strides(self) -> list[Expr]:
        """Return the distance of neighbours along each dimension."""
        sides = [self.sides[size] for size in self.shape.sizes]
        strides: list[Expr] = [Const(1)] * len(sides)
        order = range(len(sides)) if self.shape.column_major else range(len(sides) - 1, -1, -1)
        stride: Expr = Const(1)
        for axis in order:
            strides[axis] = stride
            stride = sides[axis] if stride == Const(1) else Binary("*", stride, sides[axis])
        return strides

    def coordinate(self, axis: int, task: Expr = RANK) -> Expr:
        """Return the coordinate of a task along a dimension."""
        if len(self.shape.sizes) == 1:
            return task
        stride = self.strides()[axis]
        row_number = task if stride == Const(1) else Binary("/", task, stride)
        last = len(self.shape.sizes) - 1 if self.shape.column_major else 0
        return row_number if axis == last else Binary("%", row_number, self.sides[self.shape.sizes[axis]])

    def expr(self, e: Expr) -> Expr:
        """Return an expression in terms of tasks, sides and parameters."""
        return rewritten(e, self._change)

    def cond(self, cond: Cond) -> Cond:
        """Return a condition in terms of tasks, sides and parameters."""
        return rewritten_cond(cond, self._change)

    def _change(self, e: Expr) -> Expr | None:
        match e:
            case Var("P"):
                return NUM_TASKS
            case Var(name) if name in self.sides:
                return self.sides[name]
            case Var(name) if name in self.inputs:
                return Var(self.inputs[name], e.limit, e.least)
            case Var(name) if name in self.shape.coords:
                return self.coordinate(self.shape.coords.index(name))
            case Element(array, family):
                return self._of_family(family, array == OWN)
            case Binary("//", a, b):
                low = bounds(a)
                multiple = a if low and low[0] >= 0 else sub(a, Binary("%", a, b))
                return Binary("/", multiple, b)
            case Called("log2", (n,)):
                return sub(Called("bits", (n,)), Const(1))
            case Called("ceil_log2", (n,)):  # of sizes, which are at least 1
                return Called("bits", (sub(n, Const(1)),))
            case Called("block", (n, parts, k)):
                more = Compare("<", Binary("%", k, parts), Binary("%", n, parts))
                return add(Binary("/", n, parts), Choose(more, Const(1), Const(0)))
            case Called("diagonal", (n, parts, shift, sign)):
                return _diagonal(n, parts, shift, sign)
        return None

    def axes(self, family: Expr) -> tuple[int, ...] | None:
        """Return the dimensions of a communicator's slice; None: all tasks. Raises GenerateError."""
        if family == Const(0):
            return None
        if not isinstance(family, Const):
            raise GenerateError("its communicator varies")
        axes = self.shape.slices[family.value]
        if axes is None:
            raise GenerateError(f"its communicator {family.value} is no slice of the grid")
        every = tuple(range(len(self.shape.sizes)))
        if axes == (every[::-1] if self.shape.column_major else every):
            return None
        if len(axes) > 1:
            raise GenerateError("its communicator is a plane of the grid")
        return axes

    def _of_family(self, family: Expr, wants_rank: bool) -> Expr:
        axes = self.axes(family)
        if axes is None:
            return RANK if wants_rank else NUM_TASKS
        return self.coordinate(axes[0]) if wants_rank else self.sides[self.shape.sizes[axes[0]]]

    def world(self, peer: Expr, family: Expr) -> Expr:
        """Return the task of a (translated) peer in a communicator."""
        axes = self.axes(family)
        if axes is None:
            return peer
        stride = self.strides()[axes[0]]
        return add(RANK, mul(sub(peer, self.coordinate(axes[0])), stride))


def _name_parameter(name: str, taken: AbstractSet[str]) -> str:
    """Return a parameter's name, or another one if the language or the program uses that name."""
    if name[0] == "_":
        return f"p{name}"
    return f"{name}_given" if name in taken or name[0] == "i" else name


def _diagonal(n: Expr, parts: Expr, shift: Expr, sign: Expr) -> Expr:
    """The sum over c of block(c) * block(shift + sign c), without a sum.

    With n = q parts + r, the first r blocks have q + 1 points, the others q. So the sum is q q parts + 2 q r,
    and one more for each c below r whose partner is below r: these partners are r neighbours on the circle of
    all blocks.
    """
    if sign not in (Const(1), Const(-1)):
        raise GenerateError("the sum over a diagonal of cells has a step other than 1 and -1")
    q, r = Binary("/", n, parts), Binary("%", n, parts)
    start = Binary("%", shift if sign == Const(1) else add(shift, sub(Const(1), r)), parts)
    within = add(_positive(sub(r, start)), _positive(sub(add(start, r), parts)))
    return add(add(mul(mul(q, q), parts), mul(mul(q, r), Const(2))), within)


def _positive(e: Expr) -> Expr:
    return Called("max", (Const(0), e))


def choice_in(e: Expr, local: Callable[[Cond], bool]) -> Choose | None:
    """Return a choice within an expression whose condition depends on the task (`local`)."""
    match e:
        case Choose(cond, a, b):
            return e if local(cond) else choice_in(a, local) or choice_in(b, local)
        case Binary(_, a, b):
            return choice_in(a, local) or choice_in(b, local)
    return None


def replace_part(e: Expr, part_of_e: Expr, replacement: Expr) -> Expr:
    """An expression with one part replaced."""
    if e == part_of_e:
        return replacement
    return rewritten(e, lambda part: replacement if part == part_of_e else None)


def of_task(e: Expr, task: Expr) -> Expr:
    """An expression for one task."""
    return rewritten(e, lambda part: task if isinstance(part, Var) and part.name == RANK.name else None)
