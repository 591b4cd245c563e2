"""Runs of a node after each predecessor, and the load over their means, against the walk."""

from __future__ import annotations

from collections import Counter
from statistics import fmean, pstdev

import pytest
from hypothesis import given

from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, PredStats, Sequence
from scalatrace.trace.model.tables import Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.query.contexts import TooLongError, executions_after
from scalatrace.trace.query.load import Loads, Means, near
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.traces import traces


@given(traces())
def test_counts_equal_the_walk(trace: Trace) -> None:
    for rank in range(trace.nprocs):
        walked = Counter((id(call.node), call.pred) for call in trace.walk(rank))
        counted = {(id(node), pred): n for node, pred, n in executions_after(trace, rank)}
        assert counted == walked


MEAN_TOTAL = (20 * 1000 + 50 * 10) / 2
"""Of the two ranks below."""


def _many_after_one(load: tuple[int, ...]) -> Trace:
    """Ten rounds of Isends, one long computation before the first; rank 1 makes four of them, rank 0 one."""
    isend = Event(
        Groups(((RankList([0]), Vec(1)), (RankList([1]), Vec(4)))),
        *(0, 0, ()),
        (_after(0, 2, 1000), _after(1, 30, 10), _after(2, 18, 1000)),
    )
    wait = Event(Vec(1), 1, 0, (), (_after(1, 20, 10),))
    return Trace(
        nprocs=2,
        ops=[Op("Isend", ()), Op("Waitall", ())],
        preds=[START, (0, 0), (1, 0)],
        stats=[RecordedStat("compute_ns", 1.0)],
        nodes=[Sequence(Vec(10), (isend, wait))],
        load=[Vec(load)],
    )


def test_contexts_tell_how_long_a_rank_computes() -> None:
    """The mean over all Isends, long and short, would give rank 1 four times the load of rank 0."""
    loads = Loads(_many_after_one((0, 0)), "compute_ns")
    assert [loads.over_means(rank) for rank in (0, 1)] == [1.0, 1.0]


def test_a_load_that_the_means_do_not_tell_is_a_factor() -> None:
    trace = _many_after_one((-16, 12))
    loads, own = Loads(trace, "compute_ns"), _means(trace)
    for rank, load in ((0, 2**-1), (1, 2**0.75)):
        assert loads.over_means(rank) * own[rank] == pytest.approx(load * MEAN_TOTAL)


def test_means_explain_totals_as_far_as_these_are_rounded() -> None:
    """Files of an older version have a quarter of the steps."""
    assert near([-3, 2]) == pytest.approx(2 ** (1 / 16))
    assert near([4, -8, 0]) == near([0, 0]) == pytest.approx(2 ** (1 / 8))


def test_spread_of_loads() -> None:
    trace = _many_after_one((-16, 12))
    loads = Loads(trace, "compute_ns")
    factors = [loads.over_means(rank) for rank in (0, 1)]
    assert loads.spread() == pytest.approx(pstdev(factors) / fmean(factors))
    assert Loads(_many_after_one((0, 0)), "compute_ns").spread() == 0
    assert Loads(trace, "no such").spread() == 0


def test_traces_without_totals() -> None:
    trace = _many_after_one((0, 0))
    trace.load = [None]
    assert Loads(trace, "compute_ns").over_means(1) == 1.0
    assert Loads(trace, "no such").over_means(1) == 1.0


def _after(pred: int, count: int, value: int) -> PredStats:
    return PredStats(pred, (Histogram(count, value, value, value, 0.0),))


def _means(trace: Trace) -> list[float]:
    """What the means of each rank's calls add up to."""
    return [
        sum(result.mean for call in trace.walk(rank) if (result := call.stat("compute_ns")) is not None)
        for rank in range(trace.nprocs)
    ]


def test_iterations_without_a_rule_are_run_through_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    irregular = Event(Vec(((0, 0, 1, 0),)), 0, 0, (), (_after(1, 10, 1000), _after(2, 30, 10)))
    every = Event(Vec(1), 1, 0, (), (_after(1, 40, 10),))
    trace = Trace(
        nprocs=1,
        ops=[Op("Isend", ()), Op("Waitall", ())],
        preds=[START, (0, 0), (1, 0)],
        stats=[RecordedStat("compute_ns", 1.0)],
        nodes=[Sequence(Vec(4), (every, irregular))],
        load=[Vec(0)],
    )
    monkeypatch.setattr("scalatrace.trace.query.contexts.MAX_VISITED_NODES", 8)
    with pytest.raises(TooLongError):
        executions_after(trace, 0)
    isends = sum(call.op == "Isend" for call in trace.walk(0))
    assert 0 < isends < 4
    # The mean Isend comes after either call.
    whole = (10 * 1000 + 30 * 10) / 40
    assert Means(trace, "compute_ns").of(0) == pytest.approx(isends * whole + 4 * 10)
