"""The functions and operators of coNCePTuaL, on integers of 64 bits and on floating-point numbers.

Whatever has no value (0 ** 0, SQRT(-1), a sum beyond 64 bits) raises UndefinedError; nothing is rounded in
silence. The same functions in C stand in runtime.c.in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from codegen.ncptl.draws import Draws

__all__ = ["UndefinedError", "integer_function", "integer_operator", "real_function", "real_operator"]

Number = TypeVar("Number", int, float)


class UndefinedError(ValueError):
    """An operation has no value for these operands."""


def fit(value: int) -> int:
    """Return the value. Raises UndefinedError when it needs more than 64 bits."""
    if not -(2**63) <= value < 2**63:
        raise UndefinedError("the result does not fit an integer of 64 bits")
    return value


def truncated(value: float) -> int:
    """Return a number without its fraction. Raises UndefinedError when it does not fit."""
    if not math.isfinite(value):
        raise UndefinedError("the result is not a finite number")
    return fit(int(value))


def rounded(value: float) -> int:
    """Return the nearest integer, halves away from zero."""
    return truncated(math.copysign(math.floor(abs(value) + 0.5), value))


# Operators


def divide(left: int, right: int) -> int:
    """Return the quotient, cut off towards zero."""
    if right == 0:
        raise UndefinedError("division by zero")
    quotient = abs(left) // abs(right)
    return fit(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: int, right: int) -> int:
    """Return the remainder, which is never negative."""
    if right == 0:
        raise UndefinedError("MOD 0")
    return left % abs(right)


def power(base: int, exponent: int) -> int:
    """Return base ** exponent; fractions are cut off to 0."""
    if base == 0 and exponent <= 0:
        raise UndefinedError(f"0 ** {exponent}")
    if exponent < 0:
        return base if base == -1 and exponent % 2 else 1 if base in (1, -1) else 0
    if abs(base) > 1 and exponent > 63:
        raise UndefinedError("the result does not fit an integer of 64 bits")
    if abs(base) <= 1:
        return base if exponent % 2 else abs(base) if exponent else 1
    return fit(int(base**exponent))


def shift(value: int, bits: int) -> int:
    """Shift left by `bits`, right if they are negative."""
    if bits < 0:
        return value >> min(-bits, 63)
    if bits > 63 and value:
        raise UndefinedError("the result does not fit an integer of 64 bits")
    return fit(value << bits) if value else 0


_INTEGER_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: fit(a + b),
    "-": lambda a, b: fit(a - b),
    "*": lambda a, b: fit(a * b),
    "/": divide,
    "MOD": modulo,
    "**": power,
    "<<": shift,
    ">>": lambda a, b: shift(a, -b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
}


def integer_operator(operator: str, left: int, right: int) -> int:
    """Apply an operator to two integers. Raises UndefinedError."""
    return _INTEGER_OPERATORS[operator](left, right)


def _real_divide(left: float, right: float) -> float:
    """Divide; by zero gives an infinity, for a time may be too short to be measured."""
    if right == 0.0:
        return math.copysign(math.inf, left) * math.copysign(1.0, right) if left else math.nan
    return left / right


def _real_power(base: float, exponent: float) -> float:
    if (base == 0.0 and exponent <= 0.0) or (base < 0.0 and exponent != math.floor(exponent)):
        raise UndefinedError(f"{base:g} ** {exponent:g}")
    return math.pow(base, exponent)


_REAL_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _real_divide,
    "**": _real_power,
}


def real_operator(operator: str, left: float, right: float) -> float:
    """Apply an operator to two numbers; those on bits, and MOD, cut fractions off. Raises UndefinedError."""
    if operator not in _REAL_OPERATORS:
        return float(integer_operator(operator, truncated(left), truncated(right)))
    try:
        return _REAL_OPERATORS[operator](left, right)
    except OverflowError:
        raise UndefinedError("the result is not a finite number") from None


# Roots and digits


def root(degree: int, value: int) -> int:
    """Return the largest integer whose power `degree` is at most the value."""
    if degree == 0 or value < 0:
        raise UndefinedError(f"ROOT({degree}, {value})")
    if value <= 1:
        return value
    if degree < 0:
        return 0
    low, high = 1, 2 ** (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low


def _real_root(degree: float, value: float) -> float:
    if degree == 0.0 or value < 0.0 or (value == 0.0 and degree < 0.0):
        raise UndefinedError(f"ROOT({degree:g}, {value:g})")
    return math.pow(value, 1.0 / degree)


def log10(value: int) -> int:
    """Return the logarithm, rounded down."""
    if value <= 0:
        raise UndefinedError(f"LOG10({value})")
    return len(str(value)) - 1


def factor10(value: int) -> int:
    """Round towards zero to one digit that is not zero."""
    scale: int = 10 ** (len(str(abs(value))) - 1)
    return divide(value, scale) * scale


def _real_log10(value: float) -> float:
    if value <= 0.0:
        raise UndefinedError(f"LOG10({value:g})")
    return math.log10(value)


def _real_factor10(value: float) -> float:
    if value == 0.0:
        return 0.0
    scale = 10.0 ** math.floor(math.log10(abs(value)))
    return math.copysign(math.floor(abs(value) / scale) * scale, value)


# Trees


def tree_parent(task: int, fanout: int = 2) -> int:
    """Return a task's parent in a tree, -1 for the root's."""
    if fanout < 1:
        raise UndefinedError(f"a tree with {fanout} children per task")
    return (task - 1) // fanout if task > 0 else -1


def tree_child(task: int, child: int, fanout: int = 2) -> int:
    """Return a task's child by its number from 0, -1 when a task has not so many."""
    if fanout < 1:
        raise UndefinedError(f"a tree with {fanout} children per task")
    return fit(task * fanout + child + 1) if task >= 0 and 0 <= child < fanout else -1


def _arity(k: int) -> None:
    if k < 2:
        raise UndefinedError(f"a k-nomial tree with k = {k}")


def knomial_parent(task: int, k: int, tasks: int) -> int:
    """Return the task with the foremost digit (base k) taken away; -1 when there is none."""
    _arity(k)
    if not 0 < task < tasks:
        return -1
    scale = 1
    while scale * k <= task:
        scale *= k
    return task % scale


def _knomial(task: int, k: int, tasks: int) -> list[int]:
    """A task's children: it with one more digit (base k) in front of all that it has."""
    _arity(k)
    if not 0 <= task < tasks:
        return []
    scale, found = 1, []
    while scale <= task:
        scale *= k
    while scale < tasks:
        found += [task + digit * scale for digit in range(1, k) if task + digit * scale < tasks]
        scale *= k
    return found


def knomial_children(task: int, k: int, tasks: int) -> int:
    """Return how many children a task has in a k-nomial tree."""
    return len(_knomial(task, k, tasks))


def knomial_child(task: int, child: int, k: int, tasks: int) -> int:
    """Return a task's child by its number from 0, -1 when there are not so many."""
    found = _knomial(task, k, tasks)
    return found[child] if 0 <= child < len(found) else -1


# Meshes


def _coordinates(sizes: Sequence[int], task: int) -> list[int] | None:
    """A task's place, the fastest dimension first; None off the mesh."""
    if any(size < 1 for size in sizes):
        raise UndefinedError("a mesh with a dimension below 1")
    if not 0 <= task < math.prod(sizes):
        return None
    place = []
    for size in sizes:
        place.append(task % size)
        task //= size
    return place


def mesh_coordinate(sizes: Sequence[int], task: int, axis: int) -> int:
    """Return a task's coordinate along an axis, -1 off the mesh."""
    if not 0 <= axis < len(sizes):
        raise UndefinedError(f"axis {axis} of a mesh with {len(sizes)}")
    place = _coordinates(sizes, task)
    return -1 if place is None else place[axis]


def mesh_neighbor(sizes: Sequence[int], wraps: Sequence[bool], task: int, offsets: Sequence[int]) -> int:
    """Return the task at an offset, -1 off the mesh."""
    place = _coordinates(sizes, task)
    if place is None:
        return -1
    found = 0
    scale = 1
    for size, wrap, at, offset in zip(sizes, wraps, place, offsets, strict=True):
        there = (at + offset) % size if wrap else at + offset
        if not 0 <= there < size:
            return -1
        found += there * scale
        scale *= size
    return found


def mesh_distance(sizes: Sequence[int], wraps: Sequence[bool], first: int, second: int) -> int:
    """Return the number of steps between two tasks, -1 when one is off the mesh."""
    ends = _coordinates(sizes, first), _coordinates(sizes, second)
    if ends[0] is None or ends[1] is None:
        return -1
    steps = [abs(a - b) for a, b in zip(ends[0], ends[1], strict=True)]
    return sum(min(n, size - n) if wrap else n for n, size, wrap in zip(steps, sizes, wraps, strict=True))


# By name


def integer_function(name: str, arguments: Sequence[int], tasks: int, draws: Draws | None) -> int:
    """Apply a function to integers; `tasks` is num_tasks. Raises UndefinedError."""
    a = list(arguments)
    if name.startswith("RANDOM_"):
        return _integer_draw(name, a, draws)
    if name.startswith("KNOMIAL"):
        least = 2 if name == "KNOMIAL_CHILD" else 1
        a += [2, tasks][len(a) - least :]
    return fit(_INTEGER_FUNCTIONS[name](*a))


_INTEGER_FUNCTIONS: dict[str, Callable[..., int]] = {
    "ABS": abs,
    "BITS": lambda a: 64 if a < 0 else a.bit_length(),
    "CBRT": lambda a: root(3, a),
    "CEILING": lambda a: a,
    "FACTOR10": factor10,
    "FLOOR": lambda a: a,
    "LOG10": log10,
    "ROUND": lambda a: a,
    "SQRT": lambda a: root(2, a),
    "ROOT": root,
    "MIN": lambda *a: int(min(a)),
    "MAX": lambda *a: int(max(a)),
    "TREE_PARENT": tree_parent,
    "TREE_CHILD": tree_child,
    "KNOMIAL_PARENT": knomial_parent,
    "KNOMIAL_CHILDREN": knomial_children,
    "KNOMIAL_CHILD": knomial_child,
}

_REAL_FUNCTIONS: dict[str, Callable[..., float]] = {
    "ABS": abs,
    "CBRT": lambda a: _real_root(3.0, a),
    "CEILING": math.ceil,
    "FACTOR10": _real_factor10,
    "FLOOR": math.floor,
    "LOG10": _real_log10,
    "ROUND": lambda a: math.copysign(math.floor(abs(a) + 0.5), a),
    "SQRT": lambda a: _real_root(2.0, a),
    "ROOT": _real_root,
    "MIN": lambda *a: min(a),
    "MAX": lambda *a: max(a),
}


def real_function(name: str, arguments: Sequence[float], tasks: int, draws: Draws | None) -> float:
    """Apply a function to numbers; those on tasks and bits cut fractions off. Raises UndefinedError."""
    if name.startswith("RANDOM_"):
        return _real_draw(name, arguments, draws)
    if name in _REAL_FUNCTIONS:
        return float(_REAL_FUNCTIONS[name](*arguments))
    return float(integer_function(name, [truncated(a) for a in arguments], tasks, draws))


def _integer_draw(name: str, a: list[int], draws: Draws | None) -> int:
    if name == "RANDOM_UNIFORM" and draws is not None:
        if a[0] >= a[1]:
            raise UndefinedError(f"RANDOM_UNIFORM({a[0]}, {a[1]})")
        return a[0] + draws.below(a[1] - a[0])
    return rounded(_real_draw(name, a, draws))


def _real_draw(name: str, a: Sequence[float], draws: Draws | None) -> float:
    if draws is None:
        raise UndefinedError(f"{name} has no value here")
    shown = f"{name}({', '.join(f'{x:g}' for x in a)})"
    if name == "RANDOM_UNIFORM" and a[0] < a[1]:
        return a[0] + draws.unit() * (a[1] - a[0])
    if name == "RANDOM_GAUSSIAN" and a[1] >= 0:
        return draws.gaussian(a[0], a[1])
    if name == "RANDOM_POISSON" and a[0] >= 0:
        return float(draws.poisson(a[0]))
    if name == "RANDOM_PARETO" and a[0] > 0 and a[1] > 0 and (len(a) == 2 or a[1] <= a[2]):
        return draws.pareto(*a)
    raise UndefinedError(shown)
