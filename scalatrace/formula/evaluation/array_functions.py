"""Functions of formulas for int64 arrays, each with a bound that shows where it cannot overflow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scalatrace.formula.bounds import Interval

__all__ = ["ARRAY_FUNCTIONS"]


def _log2_array(n: Any) -> Any:
    # The exponent of the nearest double is one too large just below a power of two.
    value = np.asarray(n, dtype=np.int64)
    exponent = np.frexp(np.maximum(value, 1).astype(np.float64))[1].astype(np.int64) - 1
    exponent -= (np.int64(1) << np.minimum(exponent, 62)) > np.maximum(value, 1)
    return np.where(value > 0, np.minimum(exponent, 62), -1)


def _ceil_log2_array(n: Any) -> Any:
    value = np.asarray(n, dtype=np.int64)
    return np.where(value > 0, _log2_array(np.maximum(value, 1) - 1) + 1, -1)


def _trailing_zeros_array(n: Any) -> Any:
    value = np.asarray(n, dtype=np.int64)
    lowest = value & -value
    return np.where(value == 0, 64, np.where(lowest < 0, 63, _log2_array(lowest)))


def _popcount_array(n: Any) -> Any:
    bits = np.asarray(n, dtype=np.int64).astype(np.uint64)
    counts = np.zeros(bits.shape, dtype=np.int64)
    for shift in range(0, 64, 8):
        counts += _BYTE_COUNTS[((bits >> np.uint64(shift)) & np.uint64(0xFF)).astype(np.int64)]
    return counts


_BYTE_COUNTS = np.array([n.bit_count() for n in range(256)], dtype=np.int64)


def _block_array(n: Any, parts: Any, k: Any) -> Any:
    return n // parts + (k % parts < n % parts)


def _block_start_array(n: Any, parts: Any, k: Any) -> Any:
    return k * (n // parts) + np.minimum(k, n % parts)


def _diagonal_array(n: Any, parts: Any, shift: Any, sign: Any) -> Any:
    least, more = n // parts, n % parts
    rotated = np.where(np.asarray(sign) > 0, shift % parts, (shift + 1 - more) % parts)
    overlap = np.maximum(0, more - rotated) + np.maximum(0, more - (parts - rotated))
    return parts * least * least + 2 * least * more + overlap


def _magnitude(interval: Interval) -> int:
    return max(abs(interval[0]), abs(interval[1]))


def _block_bounds(intervals: Sequence[Interval]) -> Interval:
    most = _magnitude(intervals[0]) + 1
    return -most, most


def _block_start_bounds(intervals: Sequence[Interval]) -> Interval:
    n, parts, k = map(_magnitude, intervals)
    most = k * (n + 1) + k + parts
    return -most, most


def _diagonal_bounds(intervals: Sequence[Interval]) -> Interval:
    n, parts, shift, _ = map(_magnitude, intervals)
    most = (n + parts + 1) * (n + parts + 1) * 3 + shift + parts
    return -most, most


ArrayFunction = tuple[Callable[..., Any], Callable[[Sequence[Interval]], Interval]]

ARRAY_FUNCTIONS: dict[str, ArrayFunction] = {
    "log2": (_log2_array, lambda given: (-1, 63)),
    "ceil_log2": (_ceil_log2_array, lambda given: (-1, 63)),
    "trailing_zeros": (_trailing_zeros_array, lambda given: (0, 64)),
    "popcount": (_popcount_array, lambda given: (0, 64)),
    "min": (np.minimum, lambda g: (min(g[0][0], g[1][0]), min(g[0][1], g[1][1]))),
    "max": (np.maximum, lambda g: (max(g[0][0], g[1][0]), max(g[0][1], g[1][1]))),
    "block": (_block_array, _block_bounds),
    "block_start": (_block_start_array, _block_start_bounds),
    "diagonal": (_diagonal_array, _diagonal_bounds),
}
"""Name -> function, and intervals of arguments -> an interval of the value and all intermediate results."""
