"""Edited traces whose communicators and arrays claim more than the run has: one line when they are read."""

from __future__ import annotations

from collections.abc import Sequence as AnySequence
from typing import Any

import pytest

from scalatrace.errors import FormatError, TextError
from scalatrace.trace.exchange.matrix import matrix
from scalatrace.trace.io.container import pack_container
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.model.tables import Family, IntArray
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED, Vec
from support.builder import DOUBLE, Builder, Comm

NPROCS = 6
MANY = 1 << 24
EMPTY = Vec(())


def made(*families: Family) -> Trace:
    """Return a trace with further families."""
    b = Builder(NPROCS)
    b.trace.comms += families
    return b.of(b.event("Barrier", comm=Comm()))


def claimed(nprocs: int, world: Family) -> Trace:
    """Return a trace of six ranks that claims another number of ranks, or another world."""
    b = Builder(NPROCS)
    b.trace.comms[0] = world
    b.trace.nprocs = nprocs
    return b.of(b.event("Barrier", comm=Comm()))


def called(op: str, comm: int = 0, **arrays: AnySequence[int] | int) -> Trace:
    """Return a call with arrays: their values, or how many ones there are; communicator 3 has rows of two."""
    b = Builder(NPROCS)
    b.family("split", [2, 2, 2], range(NPROCS))
    event = b.event(op, at=("a.py:3:f",), **{name: (i,) for i, name in enumerate(arrays)}, comm=Comm(comm))
    b.trace.arrays[:] = [
        IntArray(given, Vec(1)) if isinstance(given, int) else IntArray(len(given), Vec(tuple(given)))
        for given in arrays.values()
    ]
    return b.of(event)


ROWS = Vec(((NPROCS, 1, 0),))
WRONG: dict[str, tuple[Trace, str]] = {
    "more ranks than the world": (
        claimed(1 << 22, Family("world", -1, Vec(NPROCS), ROWS)),
        "communicator 0 is not the world of the 4194304 ranks",
    ),
    "another order": (
        claimed(NPROCS, Family("world", -1, Vec(NPROCS), Vec((1, 1, 2, 3, 4, 5)))),
        "communicator 0 is not the world",
    ),
    "another kind": (claimed(NPROCS, Family("split", -1, Vec(NPROCS), ROWS)), "is not the world"),
    "member": (made(Family("split", 0, Vec(6), Vec((0, 1, 2, 3, 4, 6)))), "has a member that is none of"),
    "sizes": (made(Family("split", 0, Vec((2, 2, 3)), ROWS)), "sizes that do not add up to its members"),
    "rest": (made(Family("split", 0, Vec(4), ROWS)), "sizes that do not add up"),
    "too many members": (made(Family("split", 0, Vec(1), Vec(((MANY, 0, 3),)))), "has 16777216 members"),
    "endless members": (made(Family("split", 0, Vec(1), Vec(((0, 1, 0),)))), "has members without end"),
    "foreign": (made(Family("merge", 0, Vec(MANY), Vec(((MANY, 0, UNDEFINED),)))), "of other worlds"),
    "remote": (made(Family("inter", 0, Vec(6), ROWS, Vec(6), Vec(((6, 1, 1),)))), "a member that is none"),
    "grid": (called("Cart_create", dims=(3, 3), periods=2), "is 3x3, no grid within the 6 ranks"),
    "grid of a row": (called("Cart_create", 3, dims=(2, 2), periods=2), "is 2x2, no grid within the 2 ranks"),
    "no side": (called("Cart_create", dims=(3, 0), periods=2), "is 3x0, no grid"),
    "dimensions": (called("Cart_create", dims=MANY, periods=2), "has 16777216 values"),
    "counts": (called("Alltoallv", sendcounts=MANY), "on a communicator of 6 ranks: at most 6"),
    "counts in a row": (called("Ialltoallv", 3, recvcounts=3), "on a communicator of 2 ranks: at most 2"),
    "neighbours": (called("Dist_graph_create_adjacent", sources=MANY), "at most 65536"),
    "blocks": (called("Neighbor_alltoallv", sendcounts=MANY), "at most 65536"),
    "requests": (called("Waitall", requests=MANY), "at most 1048576 are read"),
    "nodes": (called("Graph_create", index=7, edges=2), "'index' of Graph_create at a.py:3:f has 7"),
}  # fmt: skip
VALID: dict[str, Trace] = {
    "grid": called("Cart_create", dims=(3, 2), periods=2),
    "smaller grid": called("Cart_create", dims=(2, 2, 1), periods=3),
    "no dimension": called("Cart_create", dims=(), periods=()),
    "counts": called("Alltoallv", sendcounts=6),
    "neighbours twice": called("Dist_graph_create_adjacent", sources=40),
    "requests": called("Waitall", requests=100),
    "foreign": made(Family("merge", 0, Vec(8), Vec(((6, 1, 0), (2, 0, UNDEFINED))))),
    "other sizes": made(Family("split", 0, Vec((4, 2)), ROWS)),
    "one member": made(Family("split", 0, Vec(1), Vec(3))),
}


def read(trace: Trace) -> Trace:
    return loads(pack_container(pack_payload(trace), compress=False))


@pytest.mark.parametrize("name", WRONG)
def test_claims_beyond_the_run(name: str) -> None:
    trace, expected = WRONG[name]
    with pytest.raises(FormatError) as caught:
        read(trace)
    assert expected in str(caught.value)


@pytest.mark.parametrize("name", ["grid", "counts", "blocks"])
def test_claims_in_texts(name: str) -> None:
    trace, expected = WRONG[name]
    with pytest.raises(TextError, match=expected):
        parse(text(trace))


@pytest.mark.parametrize("name", VALID)
def test_claims_of_runs(name: str) -> None:
    assert read(VALID[name]) == VALID[name]


def test_a_trace_without_some_ranks_is_read() -> None:
    b = Builder(NPROCS)
    trace = b.of(b.event("Barrier", comm=Comm()))
    trace.ranks = RankList([0, 1, 3])
    assert read(trace).ranks == trace.ranks


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("Cart_create", {"dims": (3, 2), "periods": (1,)}),
        ("Graph_create", {"index": (1,), "edges": (1,)}),
    ],
)
def test_topologies_that_contradict_themselves(op: str, params: dict[str, Any]) -> None:
    b = Builder(NPROCS)
    grid = b.family("cart", [NPROCS], range(NPROCS))
    same = {"sendcount": 1, "sendtype": DOUBLE, "recvcount": 1, "recvtype": DOUBLE}
    trace = b.of(
        b.event(op, comm=Comm(), **params, newcomm=grid), b.event("Neighbor_alltoall", **same, comm=grid)
    )
    with pytest.raises(FormatError, match=f"the topology of {op} on rank . contradicts itself"):
        matrix(trace, calls="all")
