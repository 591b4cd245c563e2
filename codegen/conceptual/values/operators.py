"""The operators of coNCePTuaL, on integers of 64 bits and on floating-point numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from scalatrace.codegen.conceptual.values.numbers import UndefinedError, fit, truncated

__all__ = ["divide", "integer_operator", "modulo", "power", "real_operator", "shift"]


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
