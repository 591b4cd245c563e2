"""The reconstructed time line against the walk of each rank."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from scalatrace import load
from scalatrace.cli import main, simulation
from scalatrace.cli.ideal import with_ideal_run
from scalatrace.errors import UsageError
from scalatrace.operations import received_bytes, sent_bytes
from scalatrace.predict.platform import read_platform
from scalatrace.predict.timeline import Timeline
from scalatrace.report.costs.durations import CallTimes, Durations
from scalatrace.report.costs.efficiency import Efficiency, TraceTimes, times_of
from scalatrace.report.costs.rows import whole_time
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.grid import find_grid
from scalatrace.report.page.timeline import lines as timeline
from scalatrace.report.page.timeline.lines import SimulateLines, time_line
from scalatrace.report.page.timeline.ranks import ChosenRanks, choose_ranks
from scalatrace.report.page.timeline.rows import (
    TimeLine,
    TimelineItem,
    TimelineLoop,
    TimelineRow,
    TimelineWindow,
    arrows,
)
from scalatrace.report.page.timeline.walk import RowLimits, RowWalk, SharedTables
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import MeanTimes
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import DOUBLE, Builder, Comm, To, stencil
from support.drawing import json_of
from support.random_loops import loops
from support.reported import million_stencil, recorded, ring, timed
from support.timed import S, Timed, trace_of, uneven_solver
from support.timed import timed as timed_call

RECORDED = recorded()


def drawn_line(
    trace: Trace,
    ranks: Iterable[int],
    window: TimelineWindow,
    simulate_lines: SimulateLines | None = None,
) -> TimeLine:
    return time_line(trace, ChosenRanks(tuple(ranks)), window, simulate_lines)


def messages_between(found: TimeLine) -> list[tuple[int, int, int, int]]:
    """Sending row and number of the bar, receiving row and bar."""
    bars = [line.bars() for line in found.lines]
    return [
        (sender, bars[sender].index(send), receiver, bars[receiver].index(receive))
        for sender, send, receiver, receive in arrows(found.lines, bars)
    ]


def test_rows_of_late_ranks_begin_later() -> None:
    trace = next(trace for trace in RECORDED.values() if trace.nprocs > 1)
    chosen = ChosenRanks((0, 1))
    usual, late = (time_line(trace, chosen, TimelineWindow(), None, {1: ns}) for ns in (0.0, 5e6))
    assert late.lines[0].bars() == usual.lines[0].bars()
    moved = [(bar.start_ns - 5_000_000, bar.length_ns) for bar in late.lines[1].bars()]
    assert moved == [pytest.approx((bar.start_ns, bar.length_ns), abs=2) for bar in usual.lines[1].bars()]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_calls_of_walks(name: str) -> None:
    trace = RECORDED[name]
    found = drawn_line(trace, list(trace.ranks), TimelineWindow())
    for line in found.lines:
        calls = list(trace.walk(line.rank))
        assert not line.cut
        assert [found.places[bar.place].op for bar in line.bars()] == [call.op for call in calls]
        moved = [sent_bytes(call.op, call) or received_bytes(call.op, call) for call in calls]
        assert [bar.nbytes for bar in line.bars()] == moved
        clock, left = 0.0, trace.without_phases
        times = [MeanTimes(left, name).of_rank(line.rank) for name in ("compute_ns", "comm_ns")]
        for bar, call in zip(line.bars(), left.walk(line.rank), strict=True):
            compute, comm = (time(call) for time in times)
            comm = comm if found.timed else 1000.0
            assert bar.start_ns == pytest.approx(clock + compute, abs=1)
            clock += compute + comm


def computation(bars: Iterable[tuple[int, int]]) -> list[int]:
    """Times between calls, of their starts and ends, ns."""
    ends = [0, *(end for _, end in bars)]
    return [start - end for (start, _), end in zip(bars, ends, strict=False)]


def drawn(line: TimelineRow) -> list[tuple[int, int]]:
    return [(bar.start_ns, bar.start_ns + bar.length_ns) for bar in line.bars()]


def test_bars_are_the_exported_intervals(tmp_path: Path) -> None:
    """One rank computes 16 times as much as the others. Exports may delay a call, so later ones, too."""
    trace = trace_of(tmp_path / "a.st", *uneven_solver())
    exported = Timeline(trace.without_phases)
    for line in drawn_line(trace, range(4), TimelineWindow()).lines:
        calls = [(event.start_ns, event.end_ns) for event in exported.events(line.rank)]
        assert computation(drawn(line)) == pytest.approx(computation(calls), abs=5)
        assert drawn(line)[-1][1] == pytest.approx(calls[-1][1], rel=0.1)
    sums = [sum(computation(drawn(line))) for line in drawn_line(trace, range(4), TimelineWindow()).lines]
    assert sums == pytest.approx([8.05 * S, 0.55 * S, 0.55 * S, 0.55 * S], abs=0.2 * S)


def test_the_time_line_of_a_simulated_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace_of(path := tmp_path / "a.st", *uneven_solver())
    words = ["report", str(path), "--platform", "cluster", "--json"]
    assert main(words) == 0
    (page,) = json.loads(capsys.readouterr().out)["traces"]
    assert page["timeline"]["simulated_note"]
    rows = json_of(capsys, "simulate", path, "--platform", "cluster", "--by", "rank")["rows"]
    lines = page["timeline"]["lines"]
    assert [(line["rank"], line["simulated"]) for line in lines] == [
        (rank, is_simulated) for rank in range(4) for is_simulated in (False, True)
    ]
    for above, line in zip(lines[::2], lines[1::2], strict=True):
        assert [bar[2:5] + bar[6:] for bar in above["items"]] == [bar[2:5] + bar[6:] for bar in line["items"]]
    for line, row in zip(lines[1::2], rows, strict=True):
        bars = [(start, start + length) for start, length, *_ in line["items"]]
        assert sum(computation(bars)) == pytest.approx(row["compute_ns"], rel=0.02)
        assert bars[-1][1] == pytest.approx(row["end_ns"], rel=0.02)


def chain_of_ranks(steps: int) -> list[list[Timed]]:
    """Return the calls of four ranks that compute 1 ms each, one after another, on shared cores."""
    common = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": "world"}
    ranks = []
    for rank in range(4):
        calls = []
        for _ in range(steps):
            if rank > 0:
                calls.append(timed_call("Recv", 0, 5e6, 1, source=rank - 1, **common))
            if rank < 3:
                calls.append(timed_call("Send", 1e6, 1e3, 2, dest=rank + 1, **common))
            calls.append(timed_call("Barrier", 0 if rank < 3 else 1e6, 4e6, 3, comm="world"))
        ranks.append(calls)
    return ranks


@pytest.mark.parametrize(("steps", "is_simulated"), [(20, True), (3000, False)])
def test_rows_on_shared_cores_are_those_of_the_run_without_a_network(
    steps: int, is_simulated: bool, tmp_path: Path
) -> None:
    """If all calls fit: then every message goes forward, and ranks compute one after another."""
    shared = {"ranks-per-host": "4", "cores-per-host": "2"}
    trace_of(path := tmp_path / "a.st", chain_of_ranks(steps), meta=shared)
    drawn = gather(load(path), "a", options=with_ideal_run(PageOptions(), load(path))).timeline
    assert [line.simulated for line in drawn.lines] == [is_simulated] * 4
    assert drawn.simulated_note == (timeline.IDEAL_NOTE if is_simulated else "")
    if is_simulated:
        bars = [line.bars() for line in drawn.lines]
        drawn_arrows = arrows(drawn.lines, bars)
        assert len(drawn_arrows) == 3 * steps
        for arrow in drawn_arrows:
            assert arrow.send.start_ns <= arrow.receive.start_ns + arrow.receive.length_ns
        sends = [row[-2].start_ns for row in bars[:3]]
        assert np.diff(sends) == pytest.approx([1e6, 1e6], rel=0.01)


def test_simulated_rows() -> None:
    """Messages have arrows between rows of one kind; without recorded times there are simulated rows only."""
    trace, asked = ring(3, 4), list[tuple[int, int]]()

    def simulate_lines(lines: Iterable[tuple[int, int]], max_calls: int) -> dict[tuple[int, int], CallTimes]:
        asked.extend(lines)
        counts = {line: min(trace.nevents(line[0]), max_calls) for line in asked}
        return {line: np.arange(2.0 * n).reshape(n, 2) * 50 + 10 for line, n in counts.items()}

    found = drawn_line(trace, [0, 2], TimelineWindow(), simulate_lines=simulate_lines)
    assert asked == [(0, 0), (2, 0)]
    assert [(line.rank, line.simulated) for line in found.lines] == [
        (0, False),
        (0, True),
        (2, False),
        (2, True),
    ]
    assert [bar[:2] for bar in found.lines[3].bars()[:3]] == [(10, 50), (110, 50), (210, 50)]
    plain = drawn_line(trace, [0, 2], TimelineWindow())
    assert [line.bars() for line in found.lines[::2]] == [line.bars() for line in plain.lines]
    assert sorted(messages_between(found)) == sorted(
        (2 * a + kind, i, 2 * b + kind, j) for a, i, b, j in messages_between(plain) for kind in (0, 1)
    )
    late = drawn_line(trace, [0], TimelineWindow(500e-9, 700e-9), simulate_lines=simulate_lines)
    assert [bar.start_ns for bar in late.lines[1].bars()] == [510, 610]
    untimed = stencil()
    count = untimed.nevents(1)
    times = np.arange(2.0 * count).reshape(count, 2)
    only = drawn_line(untimed, [1], TimelineWindow(), simulate_lines=lambda lines, _: {lines[0]: times})
    assert [line.simulated for line in only.lines] == [True]
    assert only.timed


def test_runs_with_too_many_calls_have_no_simulated_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MAX_TIMELINE_CALLS", 10)
    simulated = simulation.Simulated(ring(3), read_platform("cluster"))
    found = drawn_line(ring(3), [0], TimelineWindow(), simulate_lines=simulated.call_times)
    assert [line.simulated for line in found.lines] == [False]


def test_threads_of_one_sequence_have_no_drawn_line() -> None:
    trace = ring(4)
    trace.meta |= {"threads": "3", "elapsed-ns": "1000"}
    found = drawn_line(trace, range(4), TimelineWindow())
    assert not found.lines
    assert "threads of a rank" in found.note


def test_threads_have_rows() -> None:
    """Rank 1 has two threads. On tag 5, both send: which message is first is not known."""
    b = Builder(2)
    given = {"count": 1, "datatype": DOUBLE, "comm": Comm()}
    first, second = Groups([(RankList([1]), Vec(2))]), Groups([(RankList([1]), Vec(3))])
    receive = [
        b.event("Recv", Groups([(RankList([0]), Vec(n))]), source=1, tag=t, **given)
        for n, t in ((2, 4), (5, 5))
    ]
    sends = [b.event("Send", first, dest=0, tag=t, **given) for t in (4, 5)]
    later = b.event("Send", second, dest=0, tag=5, **given)
    trace = timed(b.of(*receive, *sends, later))
    once = Groups([(RankList([1]), Vec(1))])
    trace = replace(trace, nodes=[*trace.nodes[:-1], Sequence(once, (trace.nodes[-1],), 2)])
    trace.meta |= {"threads": "2", "elapsed-ns": "1000"}
    found = drawn_line(trace, range(2), TimelineWindow())
    assert [(line.name, len(line.bars())) for line in found.lines] == [("0.0", 7), ("1.0", 4), ("1.2", 3)]
    assert "A row is a thread" in found.threads
    assert sorted(messages_between(found)) == [(1, 0, 0, 0), (1, 1, 0, 1)]


def test_messages_of_a_ring() -> None:
    found = drawn_line(ring(5), range(5), TimelineWindow())
    assert len(messages_between(found)) == 50
    for sender, send, receiver, receive in messages_between(found):
        assert (found.lines[sender].rank + 1) % 5 == found.lines[receiver].rank
        assert found.places[found.lines[sender].bars()[send].place].op == "Send"
        bar = found.lines[receiver].bars()[receive]
        assert found.places[bar.place].op == "Irecv"
        ends = {each.start_ns + each.length_ns: each for each in found.lines[receiver].bars()}
        assert found.places[ends[bar.start_ns + bar.done_ns].place].op == "Wait"
        assert send == receive + 1  # of the same iteration


def test_messages_to_ranks_that_are_not_shown_have_no_arrow() -> None:
    found = drawn_line(ring(5), [0, 1], TimelineWindow())
    assert {(arrow[0], arrow[2]) for arrow in messages_between(found)} == {(0, 1)}


def test_receives_from_any_source() -> None:
    b = Builder(3)
    given = {"count": 1, "datatype": DOUBLE, "tag": 4, "comm": Comm()}
    send = b.event("Send", Groups([(RankList([1, 2]), Vec(2))]), dest=0, **given)
    receive = b.event("Recv", Groups([(RankList([0]), Vec(4))]), source=ANY_SOURCE, **given)
    found = drawn_line(timed(b.of(send, receive)), range(3), TimelineWindow())
    assert len(messages_between(found)) == 4
    assert sorted(arrow[:2] for arrow in messages_between(found)) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert found.lines[0].bars()[0].peer == -2


def test_a_window_keeps_the_numbers_of_messages() -> None:
    trace = ring(3, steps=100)
    whole, part = (
        drawn_line(trace, range(3), TimelineWindow()),
        drawn_line(trace, range(3), TimelineWindow(0.0006, 0.0008)),
    )
    first = part.lines[0].bars()[0]
    assert first.start_ns + first.length_ns >= 600_000
    assert part.lines[0].bars()[-1].start_ns <= 800_000
    known = {bar.start_ns for bar in whole.lines[0].bars()}
    assert {bar.start_ns for bar in part.lines[0].bars()} <= known
    assert messages_between(part)
    for sender, send, receiver, receive in messages_between(part):
        start_ns = part.lines[receiver].bars()[receive].start_ns
        assert part.lines[sender].bars()[send].start_ns - start_ns == 4000


def test_long_walks_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_BARS", 30)
    found = drawn_line(million_stencil(2, steps=10**9), range(3), TimelineWindow())
    assert [(len(line.bars()), line.cut) for line in found.lines] == [(10, True)] * 3
    monkeypatch.setattr(timeline, "MAX_WALKED", 3000)
    late = drawn_line(million_stencil(2, steps=10**9), range(3), TimelineWindow(1000.0))
    assert [(len(line.bars()), line.cut) for line in late.lines] == [(0, True)] * 3


def test_traces_without_times() -> None:
    b = Builder(2)
    found = drawn_line(b.of(b.event("Barrier", 3, comm=Comm())), [0], TimelineWindow())
    assert not found.timed
    assert [bar.start_ns for bar in found.lines[0].bars()] == [0, 1000, 2000]


def test_chosen_ranks() -> None:
    trace = million_stencil()
    messages = messages_of(trace, Budget())
    grid, _ = find_grid(trace, messages)
    chosen = choose_ranks(trace, messages, grid, partial(times_of, trace))
    middle, side = 512 * 1024 + 512, 1024
    assert {middle, middle + 1, middle - 1, middle + side, middle - side} <= set(chosen.ranks)
    assert {0, side - 1, side * (side - 1), side * side - 1} <= set(chosen.ranks)  # the corners
    alike = dict(zip(chosen.ranks, chosen.alike, strict=True))
    assert alike[middle] == (side - 2) ** 2
    assert alike[0] == 1
    assert sorted(alike.values()) == [1] * 4 + [side - 2] * 4 + [(side - 2) ** 2] * 8
    assert chosen.text == (
        "Shown: rank 524,800 (middle of the grid), its nearest partners, one rank of each other "
        "class of ranks with equal calls."
    )
    assert choose_ranks(ring(4), [], find_grid(ring(4), [])[0], partial(times_of, ring(4))) == ChosenRanks(
        (0, 1, 2, 3)
    )


def test_ranks_that_compute_most_and_least_are_shown() -> None:
    trace = ring(40)
    compute_ns = np.full(40, 100.0)
    compute_ns[17], compute_ns[33] = 200.0, 50.0
    times = Efficiency(tuple(range(40)), compute_ns, np.ones(40))
    messages = messages_of(trace, Budget())
    known = TraceTimes(whole_time(trace), times)
    chosen = choose_ranks(trace, messages, find_grid(trace, messages)[0], lambda: known)
    assert {17, 33} <= set(chosen.ranks)
    assert "those that compute most and least" in chosen.text


def test_mistakes() -> None:
    with pytest.raises(UsageError, match="rank 7 is not in the trace"):
        drawn_line(ring(4), [7], TimelineWindow())
    with pytest.raises(UsageError, match="the limit is 64"):
        drawn_line(ring(128), range(65), TimelineWindow())


def assert_folds(trace: Trace) -> int:
    """Loops that are kept as such have the calls of the whole walk. Return how many there are."""
    nloops, durations, limits = 0, Durations(trace), RowLimits(10**9, 10**9)
    for rank in trace.ranks:
        tables, shown = SharedTables(), TimelineWindow()
        walks = [
            RowWalk(trace, rank, 0, tables, durations.of_line(rank), limits, shown, folds)
            for folds in (False, True)
        ]
        whole, folded = (walk.row(set()) for walk in walks)
        expected, bars = whole.bars(), folded.bars()
        assert [bar._replace(done_ns=0)[2:] for bar in bars] == [
            bar._replace(done_ns=0)[2:] for bar in expected
        ]
        assert [bar.start_ns for bar in bars] == pytest.approx([bar.start_ns for bar in expected], abs=1)
        assert [bar.done_ns for bar in bars] == pytest.approx([bar.done_ns for bar in expected], abs=2)
        nloops += count_loops(folded.items)
    return nloops


def count_loops(items: Iterable[TimelineItem]) -> int:
    return sum(1 + count_loops(item.items) for item in items if isinstance(item, TimelineLoop))


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_loops_of_recorded_traces_are_those_of_the_walk(name: str) -> None:
    if RECORDED[name].has_streams:
        pytest.skip("threads")
    assert_folds(RECORDED[name])


@given(loops())
def test_loops_of_random_traces_are_those_of_the_walk(trace: Trace) -> None:
    assert_folds(timed(trace))


def test_loops_of_loops_are_kept_as_loops() -> None:
    assert assert_folds(ring(3, steps=10)) == 3
    b = Builder(2)
    data: dict[str, Any] = {"count": 1, "datatype": DOUBLE, "comm": Comm()}
    other = To(Encoding.MODULO, Vec(1))
    begin = b.event("Irecv", source=other, tag=1, **data)
    turn = b.loop(5, b.event("Send", dest=other, tag=2, **data), b.event("Recv", source=other, tag=2, **data))
    turns = b.loop(6, turn, b.event("Send", dest=other, tag=1, **data), b.event("Wait", request=0), begin)
    trace = timed(b.of(begin, turns, b.event("Send", dest=other, tag=1, **data), b.event("Wait", request=0)))
    # Each rank has loops in the first iteration, in the last one, and in the others, which are a loop.
    assert assert_folds(trace) == 8


def test_requests_that_cross_a_loop_complete_behind_it() -> None:
    b, (data, other) = Builder(2), exchanged()
    begin = b.event("Irecv", source=other, tag=1, **data)
    turn = b.loop(9, b.event("Send", dest=other, tag=2, **data), b.event("Recv", source=other, tag=2, **data))
    send = b.event("Send", dest=other, tag=1, **data)
    assert assert_folds(timed(b.of(begin, turn, send, b.event("Wait", request=0)))) == 2


def test_receives_behind_a_loop_of_receives_from_any_source_have_no_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeline, "MAX_BARS", 30)
    b = Builder(3)
    given: dict[str, Any] = {"count": 1, "datatype": DOUBLE, "tag": 4, "comm": Comm()}
    send = b.event("Send", Groups([(RankList([1, 2]), Vec(50))]), dest=0, **given)
    receive = b.event("Recv", Groups([(RankList([0]), Vec(98))]), source=ANY_SOURCE, **given)
    last = b.event(
        "Recv", Groups([(RankList([0]), Vec(2))]), source=ANY_SOURCE, at=("end.py:1:main",), **given
    )
    found = drawn_line(timed(b.of(send, receive, last)), range(3), TimelineWindow())
    bars = [line.bars() for line in found.lines]
    assert len(bars[0]) == 100
    assert all(arrow.receive in bars[0][:1] for arrow in arrows(found.lines, bars))


def test_the_end_of_a_window_does_not_shorten_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_BARS", 60)
    b, (data, other) = Builder(2), exchanged()
    begin = b.event("Irecv", source=other, tag=1, **data)
    turns = b.loop(1000, b.event("Send", dest=other, tag=1, **data), b.event("Wait", request=0), begin)
    trace = timed(b.of(begin, turns, b.event("Send", dest=other, tag=1, **data), b.event("Wait", request=0)))
    for window in (TimelineWindow(), TimelineWindow(0.0, 30e-6)):
        for line in drawn_line(trace, range(2), window).lines:
            assert line.end_ns >= 12_000 * 990


def test_partners_that_each_rank_has_alone_form_no_classes() -> None:
    b = Builder(100)
    partners = np.random.default_rng(1).permutation(100).tolist()
    to = Groups([(RankList([rank]), Vec(partner)) for rank, partner in enumerate(partners)])
    trace = timed(b.of(b.event("Isend", dest=to, count=1, datatype=DOUBLE, tag=1, comm=Comm())))
    messages = messages_of(trace, Budget())
    assert choose_ranks(trace, messages, find_grid(trace, messages)[0], partial(times_of, trace)).alike == ()


def exchanged() -> tuple[dict[str, Any], To]:
    return {"count": 1, "datatype": DOUBLE, "comm": Comm()}, To(Encoding.MODULO, Vec(1))


def test_long_runs_are_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_BARS", 60)
    found = drawn_line(ring(3, steps=10**9), range(3), TimelineWindow())
    assert not any(line.cut for line in found.lines)
    assert found.lines[0].end_ns == pytest.approx(3 * 4000 * 1e9 + 4000)
    window = TimelineWindow(6000.0, 6000.0001)
    bars = [line.bars(window) for line in found.lines]
    assert 20 < len(bars[0]) < 30
    assert arrows(found.lines, bars)
    for sender, send, receiver, receive in arrows(found.lines, bars):
        assert (sender + 1) % 3 == receiver
        assert send.start_ns - receive.start_ns == 4000
