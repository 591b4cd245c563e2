"""Requests and neighbours of which each rank has as many as its place allows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import extrap
from scalatrace.errors import ScalatraceError
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Place, Rank, trace_of

LINES = [(3,), (4,), (5,), (6,), (7,), (8,)]
PLANES = [(3, 3), (4, 3), (4, 4), (5, 4)]
SPACES = [(2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3)]


def exchange(directions: Sequence[Place], persistent: bool = False) -> Body:
    """Irecv and Isend with the neighbours that exist along some directions, then Waitall for all."""
    suffix = "_init" if persistent else ""
    sends, receives = (f"Send{suffix}", f"Recv{suffix}") if persistent else ("Isend", "Irecv")

    def body(rank: Rank) -> list[IssuedCall]:
        peers = [(k, p) for k, d in enumerate(directions) if (p := rank.neighbour(d, False)) is not None]
        made = [call(receives, 2 * k, count=9, source=p, tag=0, comm="world") for k, p in peers]
        made += [call(sends, 2 * k + 1, count=9, dest=p, tag=0, comm="world") for k, p in peers]
        ages = tuple(range(len(made) - 1, -1, -1))
        if not persistent:
            return [*made, call("Waitall", 70, requests=ages)] * 4
        turn = [call("Startall", 71, requests=ages), call("Waitall", 70, requests=ages)]
        return [*made, *turn * 4]

    return body


def prefix_sums(rank: Rank) -> list[IssuedCall]:
    """Hillis and Steele: in stage k from the rank 2^k before to the one 2^k behind, where these exist."""
    (size,), own, calls = rank.dims, rank.number, []
    for distance in (1 << k for k in range((size - 1).bit_length())):
        if own + distance < size:
            calls.append(call("Isend", 1, count=1, dest=own + distance, tag=distance, comm="world"))
        if own >= distance:
            calls.append(call("Recv", 2, count=1, source=own - distance, tag=distance, comm="world"))
        if own + distance < size:
            calls.append(call("Wait", 3, request=0))
    return calls * 3


def cyclic_reduction(rank: Rank) -> list[IssuedCall]:
    """Both partners at distance 2^k, where they exist, and a Waitall, which may have none."""
    (size,), own, calls = rank.dims, rank.number, []
    for distance in (1 << k for k in range((size - 1).bit_length())):
        made = 0
        for site, peer in ((10, own - distance), (20, own + distance)):
            if 0 <= peer < size:
                calls.append(call("Irecv", site, count=24, source=peer, tag=distance, comm="world"))
                calls.append(call("Isend", site + 1, count=24, dest=peer, tag=distance, comm="world"))
                made += 2
        calls.append(call("Waitall", 30, requests=tuple(range(made - 1, -1, -1))))
    return calls


def posted(rank: Rank) -> list[IssuedCall]:
    """The group of a window's neighbours, in an order that is not that of their ranks."""
    around = ((-1, 0), (1, 0), (0, 1), (0, -1))
    group = tuple(p for step in around if (p := rank.neighbour(step, False)) is not None)
    return [call("Win_post", 5, recvcounts=group, comm="world")] * 3


def predicts(body: Body, grids: Sequence[Place], target: Place) -> None:
    made = extrap.extrapolate(
        [trace_of(body, dims, 1) for dims in grids], trace_of(body, target, 1).nprocs, target, dims_of=grids
    )
    assert diff(made.trace, trace_of(body, target, 1), ["times"]) == []


def test_faces_one_side_of_which_one_trace_shows() -> None:
    """Only 3x3x3 has ranks with two neighbours along the third dimension."""
    for axis in (1, 2):
        ends = [tuple(sign * (k == axis) for k in range(3)) for sign in (1, -1)]
        predicts(exchange(ends), SPACES, (4, 3, 3))


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.lists(st.sampled_from([(0, 1), (0, -1), (1, 0), (-1, 0)]), min_size=2, unique=True), st.booleans())
def test_neighbours_along_any_directions(directions: list[Place], persistent: bool) -> None:
    predicts(exchange(directions, persistent), PLANES, (6, 5))


@pytest.mark.slow
@pytest.mark.parametrize("body", [prefix_sums, cyclic_reduction])
@pytest.mark.parametrize("size", [12, 20])
def test_stages_with_partners_that_may_be_missing(body: Body, size: int) -> None:
    predicts(body, LINES, (size,))


def test_groups_of_neighbours() -> None:
    predicts(posted, PLANES, (6, 5))


def test_directions_without_an_order_are_refused() -> None:
    """On grids with a side of 2 no rank has both neighbours of a diagonal; on 4x4 ranks some have."""

    def body(rank: Rank) -> list[IssuedCall]:
        group = tuple(p for step in ((1, 1), (-1, -1)) if (p := rank.neighbour(step, False)) is not None)
        return [call("Win_post", 5, recvcounts=group, comm="world")] * 3

    grids = [(2, 2), (3, 2), (4, 2), (2, 3)]
    with pytest.raises(ScalatraceError):
        extrap.extrapolate([trace_of(body, dims, 1) for dims in grids], 16, (4, 4), dims_of=grids)
