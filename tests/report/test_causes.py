"""The result of a run in one sentence: parts of the run time, and the ranks that others wait for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace import Trace
from scalatrace.cli.report import ideal_run
from scalatrace.report.page.gather import PageOptions, TraceAggregates, gather
from scalatrace.report.page.page import page
from scalatrace.trace.model.nodes import PredStats
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm

STEPS = 10


def late(loads: list[int], inside_ns: int) -> Trace:
    """Ranks compute about 8,000 ns times 2^(load / 16) before each barrier, and are in it for some time."""
    b = Builder(len(loads))
    event = b.event("Barrier", comm=Comm(), at=("a.py:7:f",))
    stats = tuple(
        PredStats(pred, tuple(Histogram(n * len(loads), ns, ns, ns, 0) for ns in (8000, inside_ns)))
        for pred, n in ((0, 1), (1, STEPS - 1))
    )
    trace = b.of(b.loop(STEPS, replace(event, stats=stats)))
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    trace.preds.append((event.op, event.signature))
    trace.load_between = True
    trace.load = [Vec(loads), Vec([0] * len(loads))]
    return trace


def gathered(trace: Trace) -> TraceAggregates:
    return gather(trace, "a.st", options=PageOptions(ideal=ideal_run(trace)))


def test_a_late_rank_is_named_in_the_first_sentence() -> None:
    aggregates = gathered(late([0, 0, 16, 0], 30_000))
    causes = aggregates.causes
    assert causes is not None
    assert "Ranks wait mostly for rank 2 (100 %): its computation before Barrier a.py:7:f." in causes.sentence
    (first,) = causes.late
    assert (first.rank, first.nwaiting) == (2, 3)
    assert first.caused_ns == pytest.approx(sum(ns for _, ns, _ in causes.by_rank))
    assert causes.computing + causes.waiting + (causes.transfer or 0) == pytest.approx(1, abs=0.05)
    # Rank 2 computes twice as long as the others, which wait for it as long as they compute.
    assert causes.serialisation == pytest.approx(1, abs=0.05)
    assert causes.transfer_efficiency is not None
    efficiency = aggregates.summary.efficiency
    assert efficiency is not None
    product = (causes.serialisation or 0) * causes.transfer_efficiency
    assert product == pytest.approx(efficiency["communication_efficiency"], rel=0.05)
    text = page([aggregates])
    assert causes.sentence in text
    assert "Ranks that others wait for" in text


def test_equal_ranks_wait_for_none() -> None:
    causes = gathered(late([0, 0, 0, 0], 2000)).causes
    assert causes is not None
    assert causes.who == ""
    assert causes.waiting == pytest.approx(0, abs=0.02)


def test_several_late_ranks_are_named() -> None:
    causes = gathered(late([-32] * 30 + [16, 15], 30_000)).causes
    assert causes is not None
    assert "rank 30" in causes.who


def test_one_rank_waits_for_nobody() -> None:
    causes = gathered(late([0], 10)).causes
    assert causes is not None
    assert "waiting" not in causes.sentence
