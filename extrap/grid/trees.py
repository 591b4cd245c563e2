"""Complete trees over the ranks: the children of rank r are k*r+1, ..., k*r+k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scalatrace.extrap.grid.butterflies import Pairs

__all__ = ["tree_arity"]

MIN_ARITY, MAX_ARITY = 2, 8


def tree_arity(nprocs: Sequence[int], by_site: Sequence[Mapping[Any, Pairs]]) -> int:
    """Return the number of children per rank in trees of messages with own call sites; 0: none.

    Args:
        nprocs: the number of ranks of each trace.
        by_site: the pairs that exchange messages, by call site, of each trace.
    """
    sites = set(by_site[0]).intersection(*by_site[1:])
    for k in range(MIN_ARITY, MAX_ARITY + 1):
        if sum(n > 2 * k for n in nprocs) > 1 and any(
            all(_is_complete_tree(pairs[site], n, k) for n, pairs in zip(nprocs, by_site, strict=True))
            for site in sites
        ):
            return k
    return 0


def _is_complete_tree(pairs: Pairs, nprocs: int, k: int) -> bool:
    """Return whether messages are between all ranks and their parents, and no others."""
    parents, children = pairs.min(axis=1), pairs.max(axis=1)
    return bool(
        np.array_equal(parents, (children - 1) // k)
        and np.array_equal(np.unique(children), np.arange(1, nprocs))
    )
