"""One formula through given points: exact rational coefficients, and whether the points confirm it (§3.2.3).

What floating point finds is verified with integers on all points. With more points than unknowns the spare
ones check the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from extrap.features import Feature

Ints = np.ndarray[Any, np.dtype[np.int64]]

SAMPLED = 1500
"""Points that a system is solved with, about; all are checked."""

NEAR_INTEGER = 1e-7
"""So near a coefficient is an integer; the formula is checked exactly anyway."""

LARGEST_DENOMINATOR = 96
CONSTANT = 0.3
"""What a constant beside the features costs."""

FEW = 2
"""Unknowns that one spare point confirms; more need nearly as many spare points as there are unknowns."""

PLAIN, PLAIN_UNKNOWNS = 2.0, 3
"""Without spare points only sizes and products of two are believed, and so many unknowns."""

PLACES = 16
"""At so many different iterations and sizes even a formula of few values, such as i//X, is confirmed."""

SPARELESS = 4.0
"""What a formula costs more when no point is left to check it."""

__all__ = ["SAMPLED", "Solution", "believable", "exact"]


@dataclass(frozen=True, slots=True)
class Solution:
    """A formula and its weight; not sure: no point was left to check it."""

    text: str
    weight: float
    sure: bool = True


def _confirmed(unknowns: int, distinct: int, places: int) -> bool:
    """Whether so many different points are enough for a formula of so many unknowns."""
    return distinct - unknowns >= (unknowns - 1 if unknowns > FEW else 1) or places >= PLACES


def believable(chosen: Sequence[Feature], unknowns: int, distinct: int, places: int) -> bool:
    """Whether a formula is confirmed, or so plain that it is believed without spare points."""
    if _confirmed(unknowns, distinct, places):
        return True
    if distinct > unknowns:
        return False  # many coefficients through hardly more points say nothing
    return unknowns <= PLAIN_UNKNOWNS and all(feature.weight <= PLAIN for feature in chosen)


def exact(
    chosen: Sequence[Feature], table: Ints, values: Ints, distinct: int, places: int
) -> Solution | None:
    """The formula with rational coefficients over these features, if it holds for all points."""
    scale = np.maximum(np.abs(table).max(axis=1), 1).astype(np.float64)
    step = max(1, len(values) // SAMPLED)
    system = np.column_stack([np.ones(len(values[::step])), (table[:, ::step] / scale[:, None]).T])
    coefficients = np.linalg.lstsq(system, values[::step].astype(np.float64), rcond=None)[0]
    numbers, denominator = _rational([coefficients[0], *(coefficients[1:] / scale)])
    if denominator > LARGEST_DENOMINATOR:
        return None
    if 0 in numbers[1:]:
        return None  # a shorter formula does
    total = numbers[0] + sum(n * row for n, row in zip(numbers[1:], table, strict=True))
    if not np.array_equal(total, denominator * values):
        return None
    unknowns = len(chosen) + (numbers[0] != 0)
    weight = sum(feature.weight for feature in chosen) + 0.1 * sum(n not in (0, 1, -1) for n in numbers)
    weight += 0.5 * (denominator > 1) + CONSTANT * (numbers[0] != 0)
    if not believable(chosen, unknowns, distinct, places):
        return None
    sure = _confirmed(unknowns, distinct, places)
    weight += 0.0 if sure else SPARELESS
    return Solution(_text(numbers, denominator, chosen), weight, sure)


def _rational(coefficients: Sequence[float]) -> tuple[list[int], int]:
    """Numerators and the common denominator of what these coefficients are near to."""
    near = [round(c) for c in coefficients]
    if all(abs(c - n) < NEAR_INTEGER for c, n in zip(coefficients, near, strict=True)):
        return near, 1
    fractions = [Fraction(float(c)).limit_denominator(LARGEST_DENOMINATOR) for c in coefficients]
    denominator = int(np.lcm.reduce([f.denominator for f in fractions]))
    return [int(f * denominator) for f in fractions], denominator


def _text(numbers: Sequence[int], denominator: int, chosen: Sequence[Feature]) -> str:
    terms = [_term(n, feature.text) for n, feature in zip(numbers[1:], chosen, strict=True)]
    if numbers[0]:
        terms.append(f"{numbers[0]:+}")
    text = "".join(terms).removeprefix("+")
    return text if denominator == 1 else f"({text})//{denominator}"


def _term(number: int, text: str) -> str:
    inner = text if text.isidentifier() else f"({text})" if any(c in text for c in "+-%/<=>") else text
    if abs(number) == 1:
        return ("+" if number > 0 else "-") + inner
    return f"{number:+}*{inner}"
