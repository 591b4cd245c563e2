"""Partners that are no neighbours: at powers of two in rows and columns (NPB CG), or in complete trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scalatrace.trace.symbolic.grid import Grid

__all__ = ["Pairs", "butterfly_grids", "crosses_diagonal", "on_a_line", "tree_arity"]

Pairs = np.ndarray[Any, np.dtype[np.int64]]
"""Rows of sender and receiver."""


MIN_ARITY, MAX_ARITY = 2, 8


def butterfly_grids(sent: Sequence[tuple[int, Pairs]]) -> tuple[Grid, ...] | None:
    """Return the only grids, one per trace, that explain all messages, or None.

    A grid has a power of two of rows and at least as many columns. Partners are in one row or column, at a
    distance of a power of two by exclusive-or, or across the diagonal (`transposed`).

    Args:
        sent: the number of ranks and the pairs of each trace.
    """
    if on_a_line(sent):
        return None
    grids = []
    for nprocs, pairs in sent:
        if nprocs.bit_count() != 1 or not len(pairs):
            return None
        exponent = nprocs.bit_length() - 1
        shapes = [(1 << k, nprocs >> k) for k in range(exponent // 2 + 1)]
        fitting = [dims for dims in shapes if _explains(dims, pairs)]
        if not fitting:
            return None
        grids.append(fitting[-1])  # the squarest one
    return tuple(map(Grid, grids))


def on_a_line(sent: Sequence[tuple[int, Pairs]]) -> bool:
    """Return whether all partners are at exclusive-or distances of powers of two, in one dimension."""
    return all(
        nprocs.bit_count() == 1 and len(pairs) and _is_power_of_two(pairs[:, 0] ^ pairs[:, 1]).all()
        for nprocs, pairs in sent
    )


def _is_power_of_two(numbers: Any) -> Any:
    return (numbers & (numbers - 1) == 0) & (numbers > 0)


def _explains(dims: tuple[int, int], pairs: Pairs) -> bool:
    x, y = np.divmod(pairs, dims[1])
    across, along = x[:, 0] ^ x[:, 1], y[:, 0] ^ y[:, 1]
    butterfly = _is_power_of_two(along) & (across == 0) | _is_power_of_two(across) & (along == 0)
    return bool((butterfly | (pairs[:, 1] == transposed(dims, pairs[:, 0]))).all())


def transposed(dims: tuple[int, int], ranks: Any) -> Any:
    """Return the transposed rank on a grid whose columns are a multiple of its rows: blocks of columns."""
    rows, columns = dims
    x, y, width = ranks // columns, ranks % columns, columns // rows
    return y // width * columns + x * width + y % width


def crosses_diagonal(side: int, pairs: Pairs) -> bool:
    """Return whether all ranks off the diagonal of a square grid send to the transposed place, only there."""
    senders, receivers = pairs.T
    off = np.flatnonzero(transposed((side, side), np.arange(side * side)) != np.arange(side * side))
    return bool((receivers == transposed((side, side), senders)).all() and np.isin(off, senders).all())


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
