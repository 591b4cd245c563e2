"""The result of a run in one sentence: parts of the run time, and the ranks that others wait for."""

from __future__ import annotations

import pytest

from scalatrace import Trace
from scalatrace.cli.ideal import with_ideal_run
from scalatrace.predict.engine import root_causes
from scalatrace.report.costs.efficiency import time_parts
from scalatrace.report.page.gather import PageOptions, TraceAggregates, gather
from scalatrace.report.page.page import page
from support.late_ranks import late


def gathered(trace: Trace) -> TraceAggregates:
    return gather(trace, "a.st", options=with_ideal_run(PageOptions(), trace))


def test_a_late_rank_is_named_in_the_first_sentence() -> None:
    aggregates = gathered(late([0, 0, 16, 0], 30_000))
    causes = aggregates.causes
    assert causes is not None
    assert "Ranks wait mostly for rank 2 (100 %): its computation before Barrier a.py:7:f." in causes.sentence
    (first,) = causes.late
    assert (first.rank, first.nwaiting) == (2, 3)
    assert first.caused_ns == pytest.approx(sum(ns for _, ns, _ in causes.by_rank))
    parts = causes.parts
    assert parts is not None
    assert parts.computing + parts.waiting + (parts.transfer or 0) == pytest.approx(1)
    # Rank 2 computes twice as long as the others, which wait for it as long as they compute.
    assert parts.serialisation == pytest.approx(1, abs=0.05)
    assert parts.transfer_efficiency is not None
    efficiency = aggregates.summary.efficiency
    assert efficiency is not None
    product = (parts.serialisation or 0) * parts.transfer_efficiency
    assert product == pytest.approx(efficiency["communication_efficiency"])
    text = page([aggregates])
    assert causes.sentence in text
    assert "Ranks that others wait for" in text


def test_equal_ranks_wait_for_none() -> None:
    causes = gathered(late([0, 0, 0, 0], 2000)).causes
    assert causes is not None
    assert causes.who == ""
    assert causes.parts is not None
    assert causes.parts.waiting == pytest.approx(0, abs=0.02)


def test_several_late_ranks_are_named() -> None:
    causes = gathered(late([-32] * 30 + [16, 15], 30_000)).causes
    assert causes is not None
    assert "rank 30" in causes.who


def test_one_rank_waits_for_nobody() -> None:
    causes = gathered(late([0], 10)).causes
    assert causes is not None
    assert "waiting" not in causes.sentence


def test_times_with_waiting_for_cores_have_no_transfer() -> None:
    trace = late([0, 0, 16, 0], 30_000)
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    causes = gathered(trace).causes
    assert causes is not None
    assert causes.parts is not None
    assert causes.parts.transfer is None
    assert causes.parts.transfer_efficiency is None
    assert "which shared cores" in causes.sentence


def test_a_run_that_was_shorter_than_its_simulation_has_no_parts() -> None:
    assert time_parts(100.0, 25.0, 50.0, 106.0, False) is None
    # Totals of ranks are known within 5 %.
    parts = time_parts(100.0, 25.0, 50.0, 104.0, False)
    assert parts is not None
    assert (parts.waiting, parts.transfer) == (pytest.approx(1 - 25 / 104), pytest.approx(0))
    assert parts.serialisation is not None
    assert parts.transfer_efficiency is not None
    assert parts.serialisation * parts.transfer_efficiency == pytest.approx(0.5)
    assert time_parts(100.0, 25.0, 50.0, None, False) is None


def test_many_ranks_have_a_note_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_causes, "MAX_RANKS", 3)
    aggregates = gathered(late([0, 0, 16, 0], 30_000))
    assert aggregates.causes is None
    assert aggregates.notes == ("waits are not followed: more than 3 ranks",)


def test_several_threads_have_no_parts() -> None:
    trace = late([0, 0, 16, 0], 30_000)
    trace.meta["threads"] = "2"
    assert gathered(trace).causes is None
