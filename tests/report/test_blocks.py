"""Messages, their matrix by blocks, and sizes: equal to what walks give, on any number of ranks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from scalatrace.report.page.blocks import blocks_of
from scalatrace.report.page.histograms import sizes_of
from scalatrace.trace.exchange import rank_sets
from scalatrace.trace.exchange.matrix import pairs
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget, sampled
from scalatrace.trace.model.elastic import Columns
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.reported import million_stencil, recorded, ring

RECORDED = recorded()


@pytest.mark.parametrize("name", sorted(RECORDED))
@pytest.mark.parametrize("max_blocks", [128, 2])
def test_blocks_are_sums_of_pairs(name: str, max_blocks: int) -> None:
    trace, budget = RECORDED[name], Budget()
    blocks = blocks_of(trace, messages_of(trace, budget), budget.exact, max_blocks)
    for position, what in ((2, "messages"), (3, "bytes")):
        expected = Counter[tuple[int, int]]()
        for (sender, receiver), amount in pairs(trace, what, "p2p").items():
            expected[sender // blocks.size, receiver // blocks.size] += amount
        assert +expected == {cell[:2]: cell[position] for cell in blocks.cells if cell[position]}
    assert blocks.exact


def test_sizes_of_walks() -> None:
    for trace in RECORDED.values():
        sizes = sizes_of(messages_of(trace, Budget()), True)
        assert sum(one.messages for one in sizes.bins) == sum(pairs(trace, "messages", "p2p").values())
        assert sum(one.nbytes for one in sizes.bins) == sum(pairs(trace, "bytes", "p2p").values())
        for one in sizes.bins:
            assert one.above * one.messages <= one.nbytes <= (one.below - 1) * one.messages


def test_distances() -> None:
    messages = messages_of(ring(6), Budget())
    found = {one.distance: (one.messages, one.nbytes) for one in blocks_of(ring(6), messages, True).distances}
    assert found == {1: (50, 40_000), -5: (10, 8_000)}


def test_many_distances_have_a_rest() -> None:
    b = Builder(32)
    columns = Columns(RankList.all(32), Vec(tuple((7 * rank * rank) % 32 for rank in range(32))))
    trace = b.of(b.event("Send", count=1, datatype=DOUBLE, dest=columns, tag=0, comm=Comm()))
    distances = blocks_of(trace, messages_of(trace, Budget()), True).distances
    assert distances[-1].distance is None
    assert sum(one.messages for one in distances) == 32


def test_a_million_ranks() -> None:
    trace = million_stencil()
    budget = Budget()
    blocks = blocks_of(trace, messages_of(trace, budget), budget.exact)
    assert blocks.exact
    assert blocks.size * blocks.count == 1 << 20
    links = 2 * 1024 * 1023
    assert sum(cell[2] for cell in blocks.cells) == 5 * 2 * links
    assert {one.distance for one in blocks.distances} == {1, -1, 1024, -1024}
    assert {abs(cell[0] - cell[1]) for cell in blocks.cells} == {0, 1}


def test_communicators() -> None:
    """Ranks of a communicator in another order: peers are those of the communicator."""
    b = Builder(6)
    rows = b.family("split", [3, 3], [4, 2, 0, 5, 3, 1])
    send = b.event("Send", 4, count=2, datatype=DOUBLE, dest=To(Encoding.MODULO, Vec(1)), tag=0, comm=rows)
    trace = b.of(send)
    cells = {cell[:2]: cell[3] for cell in blocks_of(trace, messages_of(trace, Budget()), True).cells}
    assert cells == pairs(trace, "bytes")
    assert cells[4, 2] == 64


def irregular(nprocs: int) -> Trace:
    b = Builder(nprocs)
    dest = Columns(RankList.all(nprocs), Vec(tuple((rank * rank + 1) % nprocs for rank in range(nprocs))))
    return b.of(b.event("Send", 3, count=1, datatype=DOUBLE, dest=dest, tag=0, comm=Comm()))


def test_a_sample_stands_for_ranks_that_all_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_sets, "MAX_SETS", 64)
    trace, budget = irregular(509), Budget()
    messages = messages_of(trace, budget)
    assert not budget.exact
    total = sum(len(one.senders) * one.count for one in messages)
    assert total == pytest.approx(3 * 509)
    exact = set(pairs(trace, "messages"))
    assert {(int(one.senders[0]), int(one.receivers[0])) for one in messages} <= exact


def test_numbers_are_scaled_when_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_sets, "MAX_CALLS", 16)
    b = Builder(2)
    tags = Vec(tuple((i * i) % 97 for i in range(97)))
    counts = Vec(tuple((i * i * i) % 89 for i in range(97)))
    trace = b.of(
        b.event(
            "Send", 97, count=counts, datatype=DOUBLE, dest=To(Encoding.XOR, Vec(1)), tag=tags, comm=Comm()
        )
    )
    budget = Budget()
    messages = messages_of(trace, budget)
    assert not budget.exact
    assert sum(len(one.senders) * one.count for one in messages) == pytest.approx(194)


def test_samples() -> None:
    ranks = np.arange(1000)
    some = sampled(ranks, 50)
    assert len(some) <= 50
    assert (some[0], some[-1]) == (0, 999)
    assert (np.diff(some) > 0).all()
    assert (sampled(ranks, 50) == some).all()
    assert (sampled(ranks[:7], 7) == ranks[:7]).all()
