"""Ranks that make their first communicating call late, and the waiting for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalatrace import Trace
from scalatrace.cli.ideal import with_ideal_run
from scalatrace.executor.ideal_run import IdealRun, RootCause
from scalatrace.report.costs.efficiency import Efficiency, times_of
from scalatrace.report.costs.late_starts import LateStart, late_starts, with_late_starts
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.page import page
from scalatrace.report.page.predictions.simulated import PagePrediction
from scalatrace.trace.model.nodes import PredStats, Sequence
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import Vec
from support.late_ranks import late


def started(late_ns: int, comm_loads: list[int]) -> Trace:
    """Four ranks with equal computation; the start-up of one is longer, and it is shorter in MPI."""
    trace = late([0] * 4, 30_000)
    (loop,) = trace.nodes
    assert isinstance(loop, Sequence)
    (event,) = trace.leaves()
    longest = 1000 + late_ns
    start = Histogram(
        4, 1000, longest, 1000 + late_ns / 4, 1.0 * late_ns,
        (Bin(3, 1000, 1000, 1000), Bin(1, longest, longest, longest)),
    )  # fmt: skip
    stats = tuple(
        PredStats(row.pred, (start, *row.histograms[1:])) if row.pred == 0 else row for row in event.stats
    )
    trace.nodes = [replace(loop, nodes=(replace(event, stats=stats),))]
    trace.load = [Vec([0] * 4), Vec(comm_loads)]
    return trace


def test_the_rank_with_the_shorter_total_is_late() -> None:
    # Of 300,000 ns in MPI, rank 2 has half.
    trace = started(140_000, [2, 2, -14, 2]).without_phases
    (start,) = late_starts(trace, times_of(trace).by_rank)
    assert (start.rank, start.late_ns) == (2, 140_000)
    assert start.node > 0


def test_a_longer_start_without_a_shorter_total_is_not_named() -> None:
    trace = started(140_000, [0, 0, 0, 0]).without_phases
    assert late_starts(trace, times_of(trace).by_rank) == ()


def test_equal_starts_have_no_late_rank() -> None:
    trace = started(0, [2, 2, -14, 2]).without_phases
    assert late_starts(trace, times_of(trace).by_rank) == ()
    assert late_starts(trace, None) == ()
    alone = Efficiency((0,), np.ones(1), np.ones(1))
    assert late_starts(trace, alone) == ()


def test_others_wait_for_the_latest_start() -> None:
    ideal = IdealRun(
        100.0, (0.0, 10.0, 0.0), {}, (RootCause(0, 1, 2, 10.0, 1),), {0: 1}, ((1, 0, 10.0),), 1.0
    )
    run = with_late_starts(ideal, [LateStart(2, 4, 50.0), LateStart(1, 4, 20.0)])
    assert run.time_ns == 150
    assert run.waiting_ns == (50, 40, 0)
    assert run.causes[0] == RootCause(2, 0, 4, 80.0, 2)
    assert set(run.pairs) == {(0, 2, 50.0), (1, 2, 30.0), (1, 0, 10.0)}
    assert run.waiters == {0: 1, 2: 2}
    assert run.followed == pytest.approx(1)
    assert with_late_starts(ideal, []) is ideal


def test_the_page_names_the_late_start_first() -> None:
    trace = started(140_000, [2, 2, -14, 2])
    aggregates = gather(trace, "a.st", options=with_ideal_run(PageOptions(), trace))
    causes = aggregates.causes
    assert causes is not None
    assert causes.why.startswith("Rank 2 makes its first communicating call 140 µs later than the others")
    assert causes.late[0].rank == 2
    assert causes.parts is not None
    assert causes.parts.waiting == pytest.approx(140_000 * 4 / aggregates.basis.whole_ns, abs=0.1)
    entry = next(entry for entry in aggregates.advice if entry.kind == "late-start")
    assert entry.share == pytest.approx(140_000 * 3 / aggregates.basis.whole_ns)
    assert entry.node > 0


def test_a_predicted_run_has_no_late_start_of_its_own() -> None:
    """The sentence on the predicted run says that the late start is that of the recorded one."""
    trace = started(140_000, [2, 2, -14, 2])
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    facts = {
        "platform": "cluster", "calls": 40, "time_ns": 90_000.0, "last_rank": 3, "notes": {}, "tolerance": [],
        "path": {"compute_ns": 80_000.0, "latency_ns": 10_000.0, "bytes_ns": 0.0, "overhead_ns": 0.0,
                 "messages": 12},
        "drawn": {"median_ns": 90_000.0, "low_ns": 80_000.0, "high_ns": 95_000.0, "runs": 20},
    }  # fmt: skip
    prediction = PagePrediction.of(facts, {"operation": [], "site": []}, {})
    options = with_ideal_run(PageOptions(prediction=prediction), trace)
    text = page([gather(trace, "a.st", options=options)])
    assert "In the recorded run: Rank 2 makes its first communicating call" in text
