"""Ranks that compute one after another: where the longest path changes ranks while most ranks wait.

    rank 0   === a ===|send
    rank 1   recv.....|=== b ===|send
    rank 2   recv...............|=== c ===|

A single late rank is no such case: the path stays on it until the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.executor.ideal_run import SerialWork

__all__ = ["PathPiece", "serial_work"]

MAX_RANK_PART = 0.75
"""Part of a time that one rank may compute alone; with more, the others wait for this rank."""

MAX_COMPUTING = 0.5
"""Part of the ranks that may compute at once."""

_NS = 1e-3


class PathPiece(NamedTuple):
    """A piece of the longest path, in ps: a rank computes between two calls, named by their numbers."""

    begin: int
    end: int
    rank: int
    after: int
    node: int


def serial_work(path: Sequence[PathPiece], computing: Ints, nranks: int) -> SerialWork | None:
    """Return the times in which ranks compute one after another; None: there are none.

    Args:
        path: its pieces, from the start of the run to its end.
        computing: [pieces, 2] beginning and end of each computation of all ranks, in ps.
        nranks: number of ranks.
    """
    pieces = [piece for piece in path if piece.end > piece.begin]
    if nranks < 2 or not pieces:
        return None
    begins, ends, ranks, afters, nodes = (
        np.array(column, dtype=np.int64) for column in zip(*pieces, strict=True)
    )
    times, counts = _count_computing(computing)
    bounds = np.unique(np.concatenate((times, begins, ends)))
    starts, lengths = bounds[:-1], np.diff(bounds)
    owners = np.searchsorted(begins, starts, "right") - 1
    ncomputing = np.concatenate(([0], counts))[np.searchsorted(times, starts, "right")]
    few = (owners >= 0) & (starts < ends[owners]) & (ncomputing <= max(1, int(MAX_COMPUTING * nranks)))
    if not few.any():
        return None
    stretches = np.cumsum(few & ~np.concatenate(([False], few[:-1])))[few] - 1
    owners, lengths, ncomputing = owners[few], lengths[few], ncomputing[few]
    totals = np.bincount(stretches, lengths)
    keys, where = np.unique(stretches * nranks + ranks[owners], return_inverse=True)
    largest = np.zeros(len(totals))
    np.maximum.at(largest, keys // nranks, np.bincount(where, lengths))
    is_serial = largest <= MAX_RANK_PART * totals
    kept = is_serial[stretches]
    if not kept.any():
        return None
    serial_ps = float(lengths[kept].sum())
    longest = np.flatnonzero(stretches == int(np.argmax(np.where(is_serial, totals, 0))))
    calls, where = np.unique(np.stack((afters, nodes))[:, owners[kept]], axis=1, return_inverse=True)
    sums = np.bincount(where.ravel(), lengths[kept]) * _NS
    places = [(*pair, ns) for pair, ns in zip(calls.T.tolist(), sums.tolist(), strict=True)]
    return SerialWork(
        serial_ps * _NS,
        float((lengths * ncomputing)[kept].sum()) / serial_ps,
        _order(ranks[owners[longest]].tolist()),
        tuple(sorted(places, key=lambda place: -place[2])),
    )


def _count_computing(computing: Ints) -> tuple[Ints, Ints]:
    """Return the times at which the number of computing ranks may change, and this number from there on."""
    times, where = np.unique(computing.ravel(), return_inverse=True)
    steps = np.tile(np.array([1, -1]), len(computing))
    return times, np.cumsum(np.bincount(where.ravel(), steps, minlength=len(times))).round().astype(np.int64)


def _order(ranks: Sequence[int]) -> tuple[int, ...]:
    """Return the ranks in their order until one comes again."""
    order: list[int] = []
    for rank in ranks:
        if order and rank == order[-1]:
            continue
        if rank in order:
            break
        order.append(rank)
    return tuple(order)
