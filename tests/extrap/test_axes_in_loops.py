"""Calls in a loop over the axes of a grid that differ from axis to axis; partners across the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import extrap
from scalatrace.extrap.alignment.canonical_folding import foldings_of
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

SPACES = [(2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3)]
SQUARES = [(2, 2), (3, 3), (4, 4), (5, 5)]
N = 24


def faces(rank: Rank, steps: int = 3) -> list[IssuedCall]:
    """For each axis, exchange the cells of a face with both neighbours, where they exist."""
    calls, made = [], 0
    for axis, side in enumerate(rank.dims):
        for step in (-1, 1):
            peer = rank.neighbour([step * (other == axis) for other in range(len(rank.dims))], False)
            if peer is not None:
                cells = prod(N // other for other in rank.dims) // (N // side)
                calls.append(call("Isend", 1, count=cells, dest=peer, tag=axis, comm="world"))
                calls.append(call("Irecv", 2, count=cells, source=peer, tag=axis, comm="world"))
                made += 2
    return [*calls, call("Waitall", 3, requests=tuple(range(made - 1, -1, -1)))] * steps


def with_trees(rank: Rank) -> list[IssuedCall]:
    """Such exchanges, each followed by two reductions along binomial trees that never stop early."""
    trees, number, size = [], rank.number, prod(rank.dims)
    for site in (10, 20):
        for distance in (1 << k for k in range((size - 1).bit_length())):
            peer = number ^ distance
            if number & distance:
                trees += [call("Send", site, count=c, dest=peer, tag=site, comm="world") for c in (1, 21)]
            elif peer < size:
                trees += [call("Recv", site, count=c, source=peer, tag=site, comm="world") for c in (1, 21)]
    return (faces(rank, 1) + trees + [call("Bcast", 6, count=21, root=0, comm="world")]) * 3


def transpose(rank: Rank) -> list[IssuedCall]:
    """Exchange with the mirrored place, off the diagonal."""
    x, y = rank.place
    peer = y * rank.dims[0] + x
    own = {"dest": peer, "sendtag": 0, "source": peer, "recvtag": 0}
    return [call("Sendrecv_replace", 1, count=rank.block(0), comm="world", **own)] * (3 * (x != y))


def transpose_and_shift(rank: Rank) -> list[IssuedCall]:
    """The same, beside an exchange with the next column."""
    east, west = rank.neighbour((0, 1), False), rank.neighbour((0, -1), False)
    shift = [] if east is None else [call("Send", 2, count=8, dest=east, tag=1, comm="world")]
    shift += [] if west is None else [call("Recv", 3, count=8, source=west, tag=1, comm="world")]
    return transpose(rank) + shift + [call("Barrier", 4, comm="world")]


@pytest.mark.parametrize(
    ("body", "sizes", "target"),
    [
        (faces, SPACES, (4, 3, 3)),
        pytest.param(with_trees, SPACES, (4, 3, 3), marks=pytest.mark.slow),
        (transpose, SQUARES, (7, 7)),
        (transpose_and_shift, SQUARES, (6, 6)),
    ],
)
def test_extrapolated(body: Body, sizes: Sequence[tuple[int, ...]], target: tuple[int, ...]) -> None:
    grids = None if body in (transpose, transpose_and_shift) else sizes
    traces = [trace_of(body, dims, N) for dims in sizes]
    made = extrap.extrapolate(traces, prod(target), target, {"n": N}, dims_of=grids)
    assert diff(made.trace, trace_of(body, target, N), ["times"]) == []


REPEATS = st.lists(st.integers(1, 3), min_size=2, max_size=5)


@settings(max_examples=30, deadline=None)
@given(st.lists(REPEATS, min_size=2, max_size=4))
def test_pairs_of_calls_fold_alike(rows: list[list[int]]) -> None:
    """Two calls in a loop are one loop on all ranks, however often they run in its iterations."""

    def body(rank: Rank) -> list[IssuedCall]:
        first, second = call("Barrier", 1, comm="world"), call("Bcast", 2, count=1, root=0, comm="world")
        pairs = ([first] * n + [second] * n for n in rows[rank.number])
        return [one for pair in pairs for one in pair]

    trees = foldings_of([trace_of(body, (len(rows),))]).canonical
    assert trees is not None
    assert len({tuple(node.kind for node in tree) for tree in trees.values()}) == 1
