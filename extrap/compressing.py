"""Arrays of many integers as value vectors, ranks in masks as ranklists: by numpy: there may be a million."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalatrace.trace.compress import fold_terms
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.values import Vec

Ints = np.ndarray[Any, np.dtype[np.int64]]

FEWEST = 3
"""Values that make a progression; shorter ones are written out."""

__all__ = ["ranks_of_mask", "vec_of_array"]


def vec_of_array(values: Ints) -> Vec:
    """A vec that begins with these values; constant when they are all one."""
    if len(values) and (values == values[0]).all():
        return Vec(int(values[0]))
    return Vec(tuple(fold_terms(_progressions(values))))


def _progressions(values: Ints) -> list[Any]:
    """The values as progressions, each as long as it can be, and single ones between them."""
    steps = np.diff(values)
    ends = np.flatnonzero(np.diff(steps) != 0) + 1  # a run of equal steps ends at this value
    terms: list[Any] = []
    start = 0
    for end in [*ends.tolist(), len(values) - 1]:
        if end < start:
            continue
        count = end - start + 1
        if count >= FEWEST:
            terms.append((count, int(steps[start]), int(values[start])))
        else:
            if end < len(values) - 1:
                count, end = count - 1, end - 1  # the last may begin a progression
            terms += [int(v) for v in values[start : start + count]]
        start = end + 1
    return terms


def ranks_of_mask(mask: np.ndarray[Any, np.dtype[np.bool_]]) -> RankList:
    """The ranks at which a mask is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return RankList.from_runs(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
