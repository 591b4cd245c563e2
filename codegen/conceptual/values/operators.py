"""The operators of coNCePTuaL, on integers of 64 bits and floating-point numbers, and its progressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace

__all__ = [
    "UndefinedError", "divide", "fit", "integer_operator", "modulo", "power", "progression",
    "real_operator", "round_half_away", "shift", "truncate",
]  # fmt: skip


class UndefinedError(ValueError):
    """An operation has no value for these operands."""


def fit(value: int) -> int:
    """Return the value. Raises UndefinedError when it needs more than 64 bits."""
    if not -(2**63) <= value < 2**63:
        raise UndefinedError("the result does not fit an integer of 64 bits")
    return value


def truncate(value: float) -> int:
    """Return a number without its fraction. Raises UndefinedError when it does not fit."""
    if not math.isfinite(value):
        raise UndefinedError("the result is not a finite number")
    return fit(int(value))


def round_half_away(value: float) -> int:
    """Return the nearest integer, halves away from zero."""
    return truncate(math.copysign(math.floor(abs(value) + 0.5), value))


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
        return float(integer_operator(operator, truncate(left), truncate(right)))
    try:
        return _REAL_OPERATORS[operator](left, right)
    except OverflowError:
        raise UndefinedError("the result is not a finite number") from None


_LIKENESS = 1e-3
"""By how much ratios may differ: terms that were computed are rounded."""


def progression(leading: Sequence[int], final: int, place: SourcePlace = SourcePlace()) -> Sequence[int]:  # noqa: B008
    """Return the terms from the first leading one up to (or down to) the final value.

    One term goes on by 1 towards the end; two by their difference; more by what they have in common, a
    difference or a ratio. Terms that are all equal give that one term. Raises ProgramError when the terms
    have neither in common.
    """
    first = leading[0]
    if len(leading) == 1:
        return range(first, final + 1) if first <= final else range(first, final - 1, -1)
    step = leading[1] - first
    if all(b - a == step for a, b in pairwise(leading)):
        if step == 0:
            return [first]
        return range(first, final + (1 if step > 0 else -1), step)
    return _geometric(leading, final, place)


def _geometric(leading: Sequence[int], final: int, place: SourcePlace) -> list[int]:
    pairs = list(pairwise(leading))
    a, b = pairs[0]
    unlike = max((abs(x * b - y * a) / max(abs(x * b), 1) for x, y in pairs), default=0.0)
    if 0 in leading or unlike > _LIKENESS or abs(a) == abs(b):
        shown = ", ".join(map(str, leading))
        raise ProgramError(f"{shown}, ... is neither an arithmetic nor a geometric progression", place)
    growing = abs(b) > abs(a)
    terms, term = [], a
    ratio = math.pow(leading[-1] / a, 1.0 / (len(leading) - 1)) if unlike else 0.0
    while term != 0 and (abs(term) <= abs(final) if growing else abs(term) >= abs(final)):
        if (term < 0) != (final < 0) and final != 0 and (a < 0) == (b < 0):
            break
        terms.append(term)
        term = round_half_away(a * math.pow(ratio, len(terms))) if unlike else divide(term * b, a)
    return terms
