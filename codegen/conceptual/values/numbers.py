"""Integers of 64 bits, as the language has them: what does not fit has no value."""

from __future__ import annotations

import math

__all__ = ["UndefinedError", "fit", "rounded", "truncated"]


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
