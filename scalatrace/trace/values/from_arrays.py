"""Convert between arrays of up to millions of integers and value vectors or ranklists; find equal columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.trace.values.compress import fold_terms
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, SPECIAL_MIN, Term, Vec

MIN_PROGRESSION_VALUES = 3
"""Values of a progression; fewer are stored one by one."""

MAX_PARTS_PER_TERM = 1 << 6
"""Progressions that are folded into one term, on average, where few terms are wanted."""

MAX_INT64 = (1 << 63) - 1

__all__ = ["MAX_INT64", "distinct", "first_values", "ranks_in", "ranks_of", "ranks_of_mask", "vec_of_array"]


def vec_of_array(values: Ints, max_terms: int | None = None) -> Vec:
    """Return a vec that begins with these values; constant when they are all equal.

    Args:
        max_terms: the caller uses no result with more terms, so values that will have more, or take long, are
            not folded; None: no limit.
    """
    if len(values) and (values == values[0]).all():
        return Vec(int(values[0]))
    parts = _progressions(values)
    if max_terms is not None and len(parts) > MAX_PARTS_PER_TERM * max_terms:
        return Vec(tuple(parts))
    return Vec(tuple(fold_terms(parts, max_terms)))


def first_values(vec: Vec, n: int) -> Ints:
    """Return the first n values of a vec.

    Raises:
        ValueError: there are fewer.
    """
    if vec.constant is not None:
        return np.full(n, vec.constant, dtype=np.int64)
    assert not isinstance(vec.terms, int)
    values = _expand(vec.terms, n)
    if len(values) < n:
        raise ValueError(f"a value vector ends after {len(values)} of {n} values")
    return values


def _expand(terms: Sequence[Term], n: int) -> Ints:
    """Return the first n values of terms, or all if there are fewer."""
    parts: list[Ints] = []
    singles: list[int] = []
    for term in terms:
        if n <= 0:
            break
        if isinstance(term, int):
            singles.append(term)
            n -= 1
            continue
        if singles:
            parts.append(np.array(singles, dtype=np.int64))
            singles = []
        count, stride, *inner = term
        body = _expand(inner, n)
        needed = -(-n // len(body))
        trips = min(count, needed) if count else needed
        values = body if trips == 1 else (np.arange(trips)[:, None] * stride + body).reshape(-1)[:n]
        parts.append(values)
        n -= len(values)
    if singles or not parts:
        parts.append(np.array(singles, dtype=np.int64))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _progressions(values: Ints) -> list[Any]:
    """Return the values as maximal progressions and single values between them."""
    steps = np.diff(values)
    ends = np.flatnonzero(np.diff(steps) != 0) + 1  # a run of equal steps ends at this value
    terms: list[Any] = []
    start = 0
    for end in [*ends.tolist(), len(values) - 1]:
        if end < start:
            continue
        count = end - start + 1
        if count >= MIN_PROGRESSION_VALUES and not (steps[start] and _has_symbol(values[start : end + 1])):
            terms.append((count, int(steps[start]), int(values[start])))
        else:
            if end < len(values) - 1 and count < MIN_PROGRESSION_VALUES:
                count, end = count - 1, end - 1  # the last may begin a progression
            terms += [int(v) for v in values[start : start + count]]
        start = end + 1
    return terms


def _has_symbol(values: Ints) -> bool:
    return bool(((values >= SPECIAL_MIN) & (values < SPECIAL_MAX)).any())


def ranks_of_mask(mask: Mask) -> RankList:
    """Return the ranks at which a mask is true."""
    edges = (np.flatnonzero(mask[1:] != mask[:-1]) + 1).tolist()
    if mask.size and mask[0]:
        edges.insert(0, 0)
    if mask.size and mask[-1]:
        edges.append(len(mask))
    return RankList.from_runs(zip(edges[::2], edges[1::2], strict=True))


def ranks_of(members: Ints) -> RankList:
    """Return the ranks in an ascending array."""
    last = np.flatnonzero(np.diff(members) != 1)
    starts = members[np.concatenate([[0], last + 1])]
    stops = members[np.concatenate([last, [len(members) - 1]])] + 1
    return RankList.from_runs(zip(starts.tolist(), stops.tolist(), strict=True))


def ranks_in(ranks: RankList) -> Ints:
    """Return the ranks of a list, ascending."""
    return np.concatenate([np.arange(0), *(np.arange(start, stop) for start, stop in ranks.runs)])


def distinct(table: Ints) -> tuple[Ints, Ints]:
    """Return the first index of each distinct column of a table, and the class number of each column."""
    low, spans = _spans(table)
    if prod(spans) > MAX_INT64:  # special values are far from all others
        table = np.array([np.unique(row, return_inverse=True)[1].reshape(-1) for row in table])
        low, spans = _spans(table)
    if prod(spans) > MAX_INT64:
        _, first, inverse = np.unique(table, axis=1, return_index=True, return_inverse=True)
    else:  # one number per column sorts much faster
        if prod(spans) == 1:
            return np.zeros(1, dtype=np.int64), np.zeros(table.shape[1], dtype=np.int64)
        keys = table[0] - low[0]
        for row, least, span in zip(table[1:], low[1:], spans[1:], strict=True):
            keys *= span
            keys += row - least
        if prod(spans) <= table.shape[1]:
            return _count_keys(keys, prod(spans))
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def _spans(table: Ints) -> tuple[Ints, list[int]]:
    """Return the smallest value of each row, and how many integers there are up to its largest one."""
    low: Ints = table.min(axis=1)
    return low, [int(top) - int(least) + 1 for top, least in zip(table.max(axis=1), low, strict=True)]


def _count_keys(keys: Ints, span: int) -> tuple[Ints, Ints]:
    """Return the same as `distinct` for a row of small numbers, without sorting."""
    first = np.full(span, len(keys))
    first[keys[::-1]] = np.arange(len(keys))[
        ::-1
    ]  # of repeated keys the last assignment stays: the first index
    is_used = first < len(keys)
    return first[is_used], (np.cumsum(is_used) - 1)[keys]
