"""Collectives in the communication matrix: who sends how much to whom, as a walk of each call says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from scalatrace.errors import LimitError
from scalatrace.report.page.blocks import blocks_of, summed
from scalatrace.trace.exchange import collectives as exchanges
from scalatrace.trace.exchange.collectives import exchanges_of
from scalatrace.trace.exchange.matrix import outside, pairs
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.model.elastic import Columns, Summary
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED, Vec
from support.builder import DOUBLE, INT, Builder, Comm

EQUAL = {"sendcount": 3, "sendtype": DOUBLE, "recvcount": 3, "recvtype": DOUBLE}
RANKS = range(4)


def collective(op: str, nprocs: int = 4, repeat: int = 2, **params: object) -> Trace:
    b = Builder(nprocs)
    return b.of(b.event(op, repeat, **params, comm=Comm()))


@pytest.mark.parametrize(
    ("op", "params", "expected"),
    [
        ("Alltoall", EQUAL, {(i, j): 24 for i in RANKS for j in RANKS}),
        ("Ialltoall", EQUAL, {(i, j): 24 for i in RANKS for j in RANKS}),
        ("Allgather", EQUAL, {(i, j): 24 for i in RANKS for j in RANKS}),
        ("Gather", {**EQUAL, "root": 1}, {(i, 1): 24 for i in RANKS}),
        ("Scatter", {**EQUAL, "root": 1}, {(1, j): 24 for j in RANKS}),
        ("Alltoall", {**EQUAL, "sendcount": UNDEFINED}, {(i, j): 24 for i in RANKS for j in RANKS}),
        (
            "Alltoallv",
            {"sendcounts": (1, 0, 2, 5), "sendtype": INT, "recvcounts": (1, 1, 1, 1), "recvtype": INT},
            {(i, j): 4 * n for i in RANKS for j, n in enumerate((1, 0, 2, 5)) if n},
        ),
        (
            "Scatterv",
            {"sendcounts": (1, 0, 2, 5), "sendtype": INT, "recvcount": 1, "recvtype": INT, "root": 2},
            {(2, j): 4 * n for j, n in enumerate((1, 0, 2, 5)) if n},
        ),
        (
            "Gatherv",
            {"sendcount": 7, "sendtype": INT, "recvcounts": (7, 7, 7, 7), "recvtype": INT, "root": 0},
            {(i, 0): 28 for i in RANKS},
        ),
    ],
)
def test_pairs_of_collectives(
    op: str, params: dict[str, object], expected: dict[tuple[int, int], int]
) -> None:
    trace = collective(op, **params)
    assert pairs(trace, "bytes", "collective") == {pair: 2 * n for pair, n in expected.items()}
    assert pairs(trace) == pairs(trace, "bytes", "collective")
    assert set(pairs(trace, "messages")) >= set(expected)
    assert pairs(trace, "bytes", "p2p") == {}
    assert outside(trace) == {}


def test_communicators_and_neighbours() -> None:
    b = Builder(6)
    rows = b.family("split", [3, 3], [4, 2, 0, 5, 3, 1])
    grid = b.family("cart", [6], range(6))
    trace = b.of(
        b.event("Allgather", **EQUAL, comm=rows),
        b.event("Cart_create", comm=Comm(), ndims=2, dims=(2, 3), periods=(0, 1), reorder=0, newcomm=grid),
        b.event("Neighbor_alltoall", **EQUAL, comm=grid),
    )
    expected = Counter[tuple[int, int]]()
    for group in ((4, 2, 0), (5, 3, 1)):
        expected.update({(i, j): 24 for i in group for j in group})
    for rank in range(6):
        row, column = divmod(rank, 3)
        sides = [(1 - row) * 3 + column, row * 3 + (column - 1) % 3, row * 3 + (column + 1) % 3]
        expected.update({(rank, side): 24 for side in sides})
    assert pairs(trace) == expected


@pytest.mark.parametrize("max_expanded", [1 << 20, 0])
def test_blocks_are_sums_of_pairs(monkeypatch: pytest.MonkeyPatch, max_expanded: int) -> None:
    monkeypatch.setattr(exchanges, "MAX_EXPANDED", max_expanded)
    b = Builder(6)
    counts = {"sendcounts": (1, 0, 2, 5, 3, 0), "sendtype": INT, "recvcounts": (0,) * 6, "recvtype": INT}
    rows = b.family("split", [3, 3], [4, 2, 0, 5, 3, 1])
    trace = b.of(
        b.event("Alltoallv", 3, **counts, comm=Comm()),
        b.event("Allgather", **EQUAL, comm=rows),
        b.event("Scatter", **EQUAL, root=1, comm=rows),
    )
    blocks = blocks_of(trace, [], True, 3, list(exchanges_of(trace, Budget())))
    for at, what in ((4, "messages"), (5, "bytes")):
        expected = Counter[tuple[int, int]]()
        for (sender, receiver), amount in pairs(trace, what).items():
            expected[sender // 2, receiver // 2] += amount
        assert +expected == {cell[:2]: cell[at] for cell in blocks.cells if cell[at]}
        assert +expected == summed(trace, Budget(), 2, what, "all")


def test_a_million_ranks_are_drawn_by_blocks() -> None:
    trace = collective("Alltoall", 1 << 20, **EQUAL)
    budget = Budget()
    blocks = blocks_of(trace, [], True, exchanges=exchanges_of(trace, budget))
    assert budget.exact
    assert len(blocks.cells) == 128 * 128
    assert sum(cell[5] for cell in blocks.cells) == 2 * 24 << 40
    with pytest.raises(LimitError, match="pairs of ranks, too many to list"):
        pairs(trace)


def test_reducing_collectives_are_a_line() -> None:
    trace = collective("Allreduce", count=3, datatype=DOUBLE)
    assert pairs(trace) == {}
    assert outside(trace) == {"Allreduce": (8, 192)}


def test_amounts_in_histograms_are_a_line() -> None:
    """The matrix does not have them, since it has exact amounts of pairs."""
    counts = Summary(Histogram(8, 1, 3, 2, 1), 2)
    trace = collective("Gather", **{**EQUAL, "sendcount": counts}, root=0)
    assert pairs(trace, "bytes", "collective") == {}
    assert outside(trace) == {"Gather": (8, 128)}


def test_amounts_beyond_64_bits_are_exact() -> None:
    b = Builder(2)
    count = Columns(RankList.all(2), Vec((1, 1 << 60)))
    event: Event = b.event("Gather", 1 << 10, **{**EQUAL, "sendcount": count}, root=0, comm=Comm())
    trace = b.of(event)
    assert pairs(trace) == {(0, 0): 8 << 10, (1, 0): 8 << 70}
    assert np.issubdtype(collective("Alltoall", **EQUAL).matrix().dtype, np.int64)
