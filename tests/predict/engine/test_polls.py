"""Polls that find nothing: waiting, or work of the program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace import Trace
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.nodes import PredStats
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.values.histogram import Histogram
from support.builder import BYTE, Builder, Comm
from support.lowered import on

SHORTEST_NS, MEAN_NS = 100, 400_000


FEW_AND_MANY = Histogram(2, SHORTEST_NS, 2 * MEAN_NS - SHORTEST_NS, MEAN_NS, 0)


def polled(op: str, compute_ns: int, times: Histogram = FEW_AND_MANY, polls: int = 0) -> Trace:
    """Rank 1 computes, and polls for a message that rank 0 has sent meanwhile."""
    b = Builder(2)
    b.trace.stats.append(RecordedStat("comm_ns", 1.0))
    found = {"count": 8, "datatype": BYTE, "tag": 0, "comm": Comm()}
    if op == "Test":
        first, poll = b.event("Irecv", repeat=on({1: 1}), source=0, **found), b.event(op, request=0)
        last = b.event("Barrier", comm=Comm())
    else:
        first = b.event("Barrier", comm=Comm())
        poll = b.event(op, repeat=on({1: 1}), source=0, tag=0, comm=Comm())
        last = b.event("Recv", repeat=on({1: 1}), source=0, **found)
    recorded = [Histogram.of(compute_ns), times]
    if polls:
        b.trace.stats.append(RecordedStat("polls", 1.0))
        recorded.append(Histogram.of(polls))
    poll = replace(poll, repeat=on({1: 1}), stats=(PredStats(0, tuple(recorded)),))
    return b.of(first, b.event("Send", repeat=on({0: 1}), dest=1, **found), poll, last)


@pytest.mark.parametrize("op", ["Test", "Iprobe"])
def test_polls_wait_or_work(op: str) -> None:
    trace = polled(op, 1000)
    waiting, working = (Simulator(trace, polls_work=work) for work in (False, True))
    times = [int(each.run(Platform()).clocks[1, 0]) / 1000 for each in (waiting, working)]
    assert times[1] - times[0] == pytest.approx(MEAN_NS - SHORTEST_NS, rel=0.01)
    assert "took 0.0008 s (all ranks)" in waiting.program.notes["polls"]
    assert "polls" not in working.program.notes


def test_few_polls_are_not_noted() -> None:
    assert "polls" not in Simulator(polled("Test", 10**9)).program.notes


def test_the_number_of_polls_shows_the_time_of_one() -> None:
    for polls, expected in ((1000, 0.999 * MEAN_NS), (0, 0)):
        trace = polled("Test", 1000, Histogram.of(MEAN_NS), polls)
        waiting, working = (Simulator(trace, polls_work=work) for work in (False, True))
        times = [int(each.run(Platform()).clocks[1, 0]) / 1000 for each in (waiting, working)]
        assert times[1] - times[0] == pytest.approx(expected, rel=0.01)
