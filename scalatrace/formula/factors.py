"""Prime factors of numbers: how often programs that divide their ranks by them do so, and what is left."""

from __future__ import annotations

from functools import lru_cache
from math import prod

__all__ = ["cofactor", "prime_factors"]

MAX_DIVISOR = 1 << 16
"""Divisors that are tried; what is left of a number below its square is a prime."""


@lru_cache(maxsize=1 << 16)
def _factors(n: int) -> tuple[int, ...]:
    """The prime factors of a number, each as often as it divides it, the largest first; () below 2."""
    result, divisor = [], 2
    while divisor * divisor <= n and divisor < MAX_DIVISOR:
        while n % divisor == 0:
            result.append(divisor)
            n //= divisor
        divisor += 1 if divisor == 2 else 2
    if n >= MAX_DIVISOR * MAX_DIVISOR:
        from sympy import factorint  # type: ignore[import-untyped]  # takes longer to import than all else; ranks are fewer

        result += [int(factor) for factor, times in factorint(n).items() for _ in range(times)]
    elif n > 1:
        result.append(n)
    return tuple(sorted(result, reverse=True))


def prime_factors(n: int) -> int:
    """The number of prime factors of n, each counted as often as it divides n; 0 below 2."""
    return len(_factors(n))


def cofactor(n: int, i: int) -> int:
    """n without its i largest prime factors; without the -i smallest for i < 0; 1 without all."""
    if n < 2:
        return n
    factors = _factors(n)
    return prod(factors[i:] if i >= 0 else factors[:i])
