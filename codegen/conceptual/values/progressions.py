"""Progressions: the numbers that a few leading ones and a final one stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace
from scalatrace.codegen.conceptual.values.numbers import rounded
from scalatrace.codegen.conceptual.values.operators import divide

__all__ = ["progression"]

LIKENESS = 1e-3
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
    if 0 in leading or unlike > LIKENESS or abs(a) == abs(b):
        shown = ", ".join(map(str, leading))
        raise ProgramError(f"{shown}, ... is neither an arithmetic nor a geometric progression", place)
    growing = abs(b) > abs(a)
    result, term = [], a
    ratio = math.pow(leading[-1] / a, 1.0 / (len(leading) - 1)) if unlike else 0.0
    while term != 0 and (abs(term) <= abs(final) if growing else abs(term) >= abs(final)):
        if (term < 0) != (final < 0) and final != 0 and (a < 0) == (b < 0):
            break
        result.append(term)
        term = rounded(a * math.pow(ratio, len(result))) if unlike else divide(term * b, a)
    return result
