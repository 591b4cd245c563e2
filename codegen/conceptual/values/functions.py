"""The functions of coNCePTuaL by name, on integers of 64 bits and on floating-point numbers.

Whatever has no value (0 ** 0, SQRT(-1), a sum beyond 64 bits) raises UndefinedError; nothing is rounded in
silence. The same functions in C stand in runtime.c.in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scalatrace.codegen.conceptual.values.draws import Draws
from scalatrace.codegen.conceptual.values.operators import (
    UndefinedError,
    divide,
    fit,
    round_half_away,
    truncate,
)
from scalatrace.codegen.conceptual.values.places import (
    knomial_child,
    knomial_children,
    knomial_parent,
    tree_child,
    tree_parent,
)

__all__ = ["integer_function", "real_function"]


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
    return float(integer_function(name, [truncate(a) for a in arguments], tasks, draws))


def _integer_draw(name: str, a: list[int], draws: Draws | None) -> int:
    if name == "RANDOM_UNIFORM" and draws is not None:
        if a[0] >= a[1]:
            raise UndefinedError(f"RANDOM_UNIFORM({a[0]}, {a[1]})")
        return a[0] + draws.below(a[1] - a[0])
    return round_half_away(_real_draw(name, a, draws))


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
