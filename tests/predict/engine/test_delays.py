"""What a late rank computes more than the rank that waits for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from scalatrace.predict.engine.delays import Computation, Place, WayPiece, delays, since_common_point
from scalatrace.predict.engine.root_causes import run_ideally
from scalatrace.trace.model.nodes import PredStats, node_numbers
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm
from support.lowered import on


def place_of(computation: Computation) -> Place:
    return computation[1:]


def way(rank: int, *lengths: tuple[int, int, int]) -> list[WayPiece]:
    """Return pieces one after another in time, the newest first: call before, call after, length."""
    pieces, at = [], 0
    for after, node, length in lengths:
        pieces.append(WayPiece(at, at + length, (rank, after, node)))
        at += length
    return pieces[::-1]


def test_an_equal_computation_after_the_late_one_is_no_cause() -> None:
    late, own = way(2, (0, 1, 20), (1, 2, 30)), way(0, (0, 1, 10), (1, 2, 30))
    assert delays(late, own, place_of) == {(2, 0, 1): 10}


def test_the_wait_is_what_remains_of_longer_and_shorter_computations() -> None:
    late, own = way(2, (0, 1, 30), (1, 2, 10)), way(0, (0, 1, 10), (1, 2, 15))
    assert delays(late, own, place_of) == pytest.approx({(2, 0, 1): 15})


def test_only_the_longer_execution_of_two_counts() -> None:
    late = [*way(3, (0, 1, 10)), WayPiece(-20, 0, (2, 0, 1))]
    own = [WayPiece(-10, 0, (0, 0, 1)), WayPiece(-20, -10, (0, 0, 1))]
    assert delays(late, own, place_of) == pytest.approx({(2, 0, 1): 10})


@pytest.mark.parametrize("own_place", [(0, 7), (8, 1)])
def test_ranks_go_different_ways_before_or_after_the_same_code(own_place: tuple[int, int]) -> None:
    late, own = way(2, (0, 1, 20), (3, 4, 25)), way(0, (*own_place, 20), (3, 4, 5))
    assert delays(late, own, place_of) == pytest.approx({(2, 3, 4): 20})


def test_ways_end_where_they_come_together() -> None:
    shared = [WayPiece(0, 5, (1, 0, 1))]
    late, own = since_common_point(
        iter([WayPiece(5, 25, (2, 1, 2)), *shared]), iter([WayPiece(5, 15, (0, 1, 2)), *shared]), 9
    )
    assert [piece for piece in late if piece.end > piece.begin] == [WayPiece(5, 25, (2, 1, 2))]
    assert [piece for piece in own if piece.end > piece.begin] == [WayPiece(5, 15, (0, 1, 2))]


def test_ways_that_are_cut_end_at_the_same_time() -> None:
    late = [WayPiece(10 * i, 10 * i + 10, (1, 0, 1)) for i in range(9)][::-1]
    own = [WayPiece(10 * i, 10 * i + 10, (0, 0, 1)) for i in range(8)][::-1]
    cut = since_common_point(iter(late), iter(own), 4)
    lengths = [sum(piece.end - piece.begin for piece in pieces) for pieces in cut]
    assert lengths[0] - lengths[1] == 10
    assert cut[0][-1].begin == cut[1][-1].begin


def test_the_slower_computation_is_the_cause_though_another_is_newer() -> None:
    """`assemble` takes 10,000 ns, on rank 2 twice as long; `smooth` takes 20,000 ns on all ranks."""
    b = Builder(4)
    assemble = [
        b.event(
            "Pcontrol", repeat=on({rank: 1}), level=1, compute=Histogram.of(20_000 if rank == 2 else 10_000)
        )
        for rank in range(4)
    ]
    smooth = b.event("Pcontrol", level=2, compute=Histogram.of(20_000))
    trace = b.of(b.loop(5, *assemble, smooth, b.event("Barrier", comm=Comm())), every=True)
    numbers = node_numbers(trace.nodes)
    slow = numbers[id([leaf for leaf in trace.leaves() if leaf.op == assemble[2].op][2])]
    caused: Counter[tuple[int, int]] = Counter()
    for row in run_ideally(trace).causes:
        caused[row.rank, row.node] += round(row.waiting_ns)
    assert caused == {(2, slow): 5 * 3 * 10_000}


def test_a_rank_has_its_excess_where_the_ranks_differ() -> None:
    """As above, with histograms over all ranks, and the total of each rank only."""
    b, steps = Builder(4), 5

    def histogram(count: int, *bins: tuple[int, int]) -> Histogram:
        samples = [Bin(count * n, ns, ns, ns) for n, ns in bins]
        mean = sum(each.count * each.mean for each in samples) / (4 * count)
        return Histogram(4 * count, bins[0][1], bins[-1][1], mean, 1.0 * (len(bins) > 1), tuple(samples))

    assemble, barrier = b.event("Pcontrol", level=1), b.event("Barrier", comm=Comm())
    uneven = [
        PredStats(pred, (histogram(n, (3, 10_000), (1, 20_000)),)) for pred, n in ((0, 1), (2, steps - 1))
    ]
    even = PredStats(1, (histogram(steps, (4, 20_000)),))
    trace = b.of(b.loop(steps, replace(assemble, stats=tuple(uneven)), replace(barrier, stats=(even,))))
    trace.stats = [RecordedStat("compute_ns", 1.0)]
    trace.preds += [(assemble.op, assemble.signature), (barrier.op, barrier.signature)]
    trace.load_between = True
    trace.load = [Vec([-2, -2, 5, -2])]
    numbers = node_numbers(trace.nodes)
    slow = next(numbers[id(leaf)] for leaf in trace.leaves() if leaf.op == assemble.op)
    run = run_ideally(trace)
    assert sum(run.waiting_ns) == pytest.approx(steps * 3 * 10_000, rel=0.1)
    at_slow = sum(row.waiting_ns for row in run.causes if (row.rank, row.node) == (2, slow))
    assert at_slow > 0.95 * sum(run.waiting_ns)
    # Loads are rounded, so the total of each rank is kept, but not more.
    assert run.time_ns == pytest.approx(steps * 32_500 * 2 ** (5 / 16), rel=0.01)
