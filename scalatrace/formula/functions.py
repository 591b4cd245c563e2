"""Functions that formulas call: one registry with their meaning for integers and arrays.

Printers have the texts of the same names (`scalatrace.formula.printing.base`); tests compare all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

__all__ = [
    "ANY_ARITY",
    "FUNCTIONS",
    "Function",
    "block",
    "block_start",
    "cofactor",
    "diagonal",
    "log2",
    "prime_factors",
    "register",
]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of integers.

    Attributes:
        name: in formulas.
        arity: number of arguments, or ANY_ARITY.
        scalar: its value for Python integers, exact.
        array: of a plug-in's function, its value for int64 arrays (or integers); it must not overflow. None:
            that of `scalatrace.formula.evaluation.array_functions`, or else `scalar` for each element.
        nonnegative: whether its value is never negative when no argument is.
        texts: of a plug-in's function that cannot be called with symbols, its definition per language ("c",
            "python") for generated programs.
    """

    name: str
    arity: int
    scalar: Callable[..., int]
    array: Callable[..., Any] | None = None
    nonnegative: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)


ANY_ARITY = -1
"""Arity of a function that checks its arguments itself."""

FUNCTIONS: dict[str, Function] = {}
"""The functions by name; plug-ins add theirs with `register`."""


def register(function: Function) -> None:
    """Let formulas call a function."""
    FUNCTIONS[function.name] = function


def log2(n: int) -> int:
    """Return the base-2 logarithm rounded down; -1 below 1."""
    return n.bit_length() - 1 if n > 0 else -1


def ceil_log2(n: int) -> int:
    """Return the base-2 logarithm rounded up; -1 below 1."""
    return (n - 1).bit_length() if n > 0 else -1


def trailing_zeros(n: int) -> int:
    """Return the exponent of the largest power of two that divides n; 64 for 0."""
    return (n & -n).bit_length() - 1 if n else 64


def popcount(n: int) -> int:
    """Return the number of one bits of a number; of a negative one, in 64 bits."""
    return (n & 0xFFFFFFFFFFFFFFFF).bit_count()


MAX_DIVISOR = 1 << 16
"""Divisors that are tried; what is left of a number below its square is a prime."""


@lru_cache(maxsize=1 << 16)
def _factors(n: int) -> tuple[int, ...]:
    """Return the prime factors of a number, each as often as it divides it, the largest first; () below 2."""
    factors, divisor = [], 2
    while divisor * divisor <= n and divisor < MAX_DIVISOR:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1 if divisor == 2 else 2
    if n >= MAX_DIVISOR * MAX_DIVISOR:
        from sympy import factorint  # type: ignore[import-untyped]  # takes longer to import than all else; ranks are fewer

        factors += [int(factor) for factor, times in factorint(n).items() for _ in range(times)]
    elif n > 1:
        factors.append(n)
    return tuple(sorted(factors, reverse=True))


def prime_factors(n: int) -> int:
    """Return the number of prime factors of n with multiplicity; 0 below 2."""
    return len(_factors(n))


def cofactor(n: int, i: int) -> int:
    """Return n without its i largest prime factors; without the -i smallest for i < 0; 1 without all."""
    if n < 2:
        return n
    factors = _factors(n)
    return prod(factors[i:] if i >= 0 else factors[:i])


def block(n: int, parts: int, k: int) -> int:
    """Return the size of part k of n elements: the first n % parts parts have one element more."""
    return n // parts + (k % parts < n % parts)


def block_start(n: int, parts: int, k: int) -> int:
    """Return the first element of part k of n elements, for 0 <= k <= parts."""
    return k * (n // parts) + min(k, n % parts)


def diagonal(n: int, parts: int, shift: int, sign: int) -> int:
    """Sum over c of block(c) * block(shift + sign * c): the points of a diagonal of cells (multi-partition).

    A block has n // parts points, the first n % parts blocks one more. What remains to be counted are the c
    for which both blocks have one more: two arcs of equal length on a circle, the second one rotated.
    """
    least, more = n // parts, n % parts
    rotated = shift % parts if sign > 0 else (shift + 1 - more) % parts
    overlap = max(0, more - rotated) + max(0, more - (parts - rotated))
    return parts * least * least + 2 * least * more + overlap


for _function in (
    Function("log2", 1, log2),
    Function("ceil_log2", 1, ceil_log2),
    Function("trailing_zeros", 1, trailing_zeros, nonnegative=True),
    Function("popcount", 1, popcount, nonnegative=True),
    Function("min", 2, min, nonnegative=True),
    Function("max", 2, max, nonnegative=True),
    Function("prime_factors", 1, prime_factors, nonnegative=True),
    Function("cofactor", 2, cofactor, nonnegative=True),
    Function("block", 3, block, nonnegative=True),
    Function("block_start", 3, block_start, nonnegative=True),
    Function("diagonal", 4, diagonal, nonnegative=True),
):
    register(_function)
