"""The result of a run in one sentence: parts of the run time, and the ranks that others wait for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from scalatrace import Trace
from scalatrace.cli.ideal import with_ideal_run
from scalatrace.predict.engine import root_causes
from scalatrace.report.costs.efficiency import time_parts
from scalatrace.report.page.gather import PageOptions, TraceAggregates, gather
from scalatrace.report.page.overview.causes import causes_of
from scalatrace.report.page.overview.summary import summary_of
from scalatrace.report.page.page import page
from scalatrace.report.style import coarse_duration, coarse_percent
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.late_ranks import late


def gathered(trace: Trace) -> TraceAggregates:
    return gather(trace, "a.st", options=with_ideal_run(PageOptions(), trace))


def test_a_late_rank_is_named_in_the_first_sentence() -> None:
    aggregates = gathered(late([0, 0, 16, 0], 30_000))
    causes = aggregates.causes
    assert causes is not None
    assert (
        causes.why == "Ranks wait for rank 2 (100 % of the waiting), "
        "which still computes in f() from one Barrier at a.py:7 to the next."
    )
    (first,) = causes.late
    assert (first.rank, first.nwaiting) == (2, 3)
    assert first.caused_ns == pytest.approx(sum(ns for _, ns, _ in causes.by_rank))
    (direct,) = causes.direct
    assert (direct.op, direct.ranks, direct.nranks, direct.rank) == ("Barrier", "0-1, 3", 3, 2)
    assert direct.why == "rank 2 itself"
    assert direct.share == pytest.approx(1)
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
    assert text.index(causes.why) < text.index(causes.sentence)
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
    assert "that shared cores" in causes.sentence


def test_waiting_on_shared_cores_is_at_most_that_of_the_calls_in_the_simulated_run() -> None:
    trace = late([0, 0, 16, 0], 30_000)
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    barrier = next(trace.leaves())
    stats = []
    for pred in barrier.stats:
        computed, inside = pred.histograms
        assert inside is not None
        stats.append(replace(pred, histograms=(computed, replace(inside, min=100.0))))
    loop, *_ = trace.nodes
    assert isinstance(loop, Sequence)
    nodes = [replace(loop, nodes=(replace(barrier, stats=tuple(stats)),))]
    aggregates = gathered(replace(trace, nodes=nodes))
    assert aggregates.causes is not None
    entry = next(entry for entry in aggregates.advice if entry.title == "Waiting before collectives")
    waiting_ns = sum(aggregates.causes.by_call.values())
    assert entry.share == pytest.approx(waiting_ns / aggregates.basis.whole_ns)
    assert dict(entry.numbers)["its largest part"].startswith(
        f"{coarse_duration(waiting_ns / 4)} per rank in"
    )


def test_ranks_of_an_extrapolated_trace_share_no_cores() -> None:
    trace = late([0, 0, 0, 0], 30_000)
    trace.meta |= {
        "extrapolated": "from 2, 3 ranks to 4",
        "oversubscribed": "runs with more ranks than cores: 3",
    }
    causes = gathered(trace).causes
    assert causes is not None
    assert "on 4 ranks, extrapolated from runs whose ranks shared cores:" in causes.sentence
    assert "that shared cores" not in causes.sentence
    assert "a core for each rank, equally long computation and messages that take no time" in causes.sentence


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
    assert re.fullmatch(r"[\d.]+ [mµ]?s on 4 ranks: [\d.]+ % of the time in MPI\.", aggregates.result)
    assert "The bar is simulated" not in page([aggregates])


def test_several_threads_have_no_parts() -> None:
    trace = late([0, 0, 16, 0], 30_000)
    trace.meta["threads"] = "2"
    assert gathered(trace).causes is None


def in_turn(steps: int = 10) -> Trace:
    """Four ranks: each receives, computes 8,000 ns in `stage`, and sends on; a barrier ends each step."""
    b = Builder(4)
    main, work = "/a.py:9:main", "/a.py:{}:stage".format
    given: dict[str, Any] = {"count": 1, "datatype": DOUBLE, "tag": 1, "comm": Comm()}
    receive = b.event("Recv", Groups([(RankList([1, 2, 3]), Vec(1))]), at=(work(3), main),
                      source=To(Encoding.RELATIVE, Vec(-1)), **given)  # fmt: skip
    send = b.event("Send", Groups([(RankList([0, 1, 2]), Vec(1))]), at=(work(5), main),
                   dest=To(Encoding.RELATIVE, Vec(1)), **given)  # fmt: skip
    barrier = b.event("Barrier", at=("/a.py:12:main",), comm=Comm())
    trace = b.of(b.loop(steps, receive, send, barrier))
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    trace.preds = [START, *((event.op, event.signature) for event in (receive, send, barrier))]
    (receive, send, barrier), n = trace.leaves(), steps - 1

    def stats(*rows: tuple[int, int, int, int]) -> tuple[PredStats, ...]:
        """Call before it, calls, computation and time in it."""
        return tuple(PredStats(pred, tuple(of(count, ns) for ns in times)) for pred, count, *times in rows)

    def of(count: int, ns: int) -> Histogram:
        return Histogram(count, ns, ns, ns, 0)

    timed = (
        replace(receive, stats=stats((0, 3, 10, 16_000), (3, 3 * n, 10, 16_000))),
        replace(send, stats=stats((0, 1, 8000, 10), (3, n, 8000, 10), (1, 2 * steps, 8000, 10))),
        replace(barrier, stats=stats((1, steps, 8000, 10), (2, 3 * steps, 10, 15_990))),
    )
    trace.nodes = [replace(trace.nodes[0], nodes=timed)]
    trace.__dict__.pop("pred_index", None)
    trace.__dict__.pop("stat_index", None)
    return trace


def test_ranks_that_run_one_after_another_are_said_first() -> None:
    aggregates = gathered(in_turn())
    causes = aggregates.causes
    assert causes is not None
    serial = causes.serial
    assert serial is not None
    assert serial.saving == pytest.approx(0.75, abs=0.05)
    assert serial.place == "in stage() between a.py:3 (Recv) and line 5 (Send)"
    assert serial.ranks == "0, 1, 2, 3"
    assert causes.why.startswith("Ranks run one after another, which costs up to ")
    assert causes.why in page([aggregates])
    entry = next(entry for entry in aggregates.advice if entry.kind == "serialisation")
    assert entry.share == pytest.approx(serial.lost_ns / (aggregates.summary.run_time_ns or 0))
    assert ("mostly", serial.place) in entry.numbers
    assert entry.node == serial.node > 0
    for equal in (late([0, 0, 16, 0], 30_000), late([0, 0, 0, 0], 2000)):
        others = gathered(equal)
        assert others.causes is not None
        assert others.causes.serial is None
        assert "serialisation" not in {entry.kind for entry in others.advice}


def test_the_first_sentence_names_the_larger_part() -> None:
    """Ranks take turns for a tenth of the run; then others wait for one rank, for longer."""
    trace = in_turn()
    ideal = with_ideal_run(PageOptions(), trace).ideal
    assert ideal is not None
    assert ideal.serial is not None
    summary = summary_of(trace.without_phases)
    short = replace(ideal.serial, time_ns=0.15 * ideal.time_ns)
    late_rank = replace(ideal.causes[0], rank=2, waiting_ns=0.9 * sum(ideal.waiting_ns))
    causes = causes_of(trace, replace(ideal, serial=short, causes=(late_rank,)), summary)
    assert causes is not None
    assert causes.serial is not None
    assert causes.why.startswith("Ranks wait mostly for rank 2")
    assert [late_rank.rank for late_rank in causes.named] == [2]
    assert "one after another" not in causes.sentence


def test_both_places_give_the_same_part_for_ranks_in_turn() -> None:
    aggregates = gathered(in_turn())
    assert aggregates.causes is not None
    entry = next(entry for entry in aggregates.advice if entry.kind == "serialisation")
    assert f"costs up to {coarse_percent(entry.share)} of the run time" in aggregates.causes.why


def test_a_small_part_of_the_measured_time_is_not_the_result() -> None:
    """A rank is late in the simulated run of both; in one, measured calls take a thousand times as long."""
    verdicts = []
    for inside_ns in (1_000, 10_000_000):
        trace = late([0, 0, 0, 32], inside_ns)
        verdicts.append(gather(trace, "x", options=with_ideal_run(PageOptions(), trace)).verdict)
    assert verdicts[0].startswith("Ranks wait for rank 3")
    assert "rank 3" not in verdicts[1]
