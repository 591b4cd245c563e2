"""Waits of ranks, divided between the computation of others that they wait for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.executor.ideal_run import DirectWait
from scalatrace.predict.engine import root_causes
from scalatrace.predict.engine.root_causes import IDEAL, ideal_time_ns, run_ideally
from scalatrace.predict.engine.simulate import SimulationDeadlockError, Simulator
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm, To
from support.lowered import on
from support.random_loops import both, loops


def chain() -> Trace:
    """Rank 0 computes 100 ns and sends to rank 1, which computes 10 and 50 ns and sends to rank 2."""
    b = Builder(3)
    previous, following = To(Encoding.RELATIVE, Vec(-1)), To(Encoding.RELATIVE, Vec(1))
    return b.of(
        b.event("Pcontrol", repeat=on({0: 1}), level=1, compute=Histogram.of(100)),
        b.event("Pcontrol", repeat=on({1: 1}), level=1, compute=Histogram.of(10)),
        b.event("Recv", repeat=on({1: 1}), source=previous, **both(8)),
        b.event("Pcontrol", repeat=on({1: 1}), level=2, compute=Histogram.of(50)),
        b.event("Send", repeat=on({0: 1}), dest=following, **both(8)),
        b.event("Send", repeat=on({1: 1}), dest=following, **both(8)),
        b.event("Recv", repeat=on({2: 1}), source=previous, **both(8)),
        every=True,
    )


def test_a_chain_of_waits_leads_to_its_first_cause() -> None:
    run = run_ideally(chain())
    assert run.time_ns == 150
    assert run.waiting_ns == (50, 90, 150)
    # Rank 1 waits 90 ns for rank 0; rank 2 waits 50 ns for rank 1, and 100 ns for rank 0.
    # Rank 0 ends 50 ns earlier.
    assert [(row.rank, row.waiting_ns, row.nranks) for row in run.causes] == [(0, 190, 2), (1, 100, 2)]
    assert set(run.pairs) == {(2, 0, 100), (1, 0, 90), (2, 1, 50), (0, 1, 50)}
    assert run.waiters == {0: 2, 1: 2}
    assert run.followed == 1
    # Rank 2 waits directly for rank 1 alone. Nodes: the Recvs of ranks 2 and 1, and the end of rank 0.
    assert run.direct == (
        DirectWait(7, 1, 150, (2,), ((0, 100), (1, 50))),
        DirectWait(3, 0, 90, (1,), ((0, 90),)),
        DirectWait(0, 1, 50, (0,), ((1, 50),)),
    )
    assert {number: ns for number, ns in run.by_call.items() if ns} == {7: 150, 3: 90}


def test_only_what_lies_within_the_wait_counts() -> None:
    """At a barrier all wait for the rank that computes longest, and only for as long as they wait."""
    b = Builder(4)
    pauses = [
        b.event("Pcontrol", repeat=on({rank: 1}), level=1, compute=Histogram.of(100 * rank))
        for rank in range(4)
    ]
    run = run_ideally(b.of(b.loop(5, *pauses, b.event("Barrier", comm=Comm())), every=True))
    assert run.waiting_ns == (1500, 1000, 500, 0)
    assert [(row.rank, row.waiting_ns, row.nranks) for row in run.causes] == [
        (3, 2400, 3),
        (3, 600, 3),
    ]  # after a barrier, and after the start


@settings(max_examples=150, deadline=None)
@given(trace=loops())
def test_all_waiting_has_causes(trace: Trace) -> None:
    try:
        plain = Simulator(trace).run(IDEAL)
    except SimulationDeadlockError:
        return
    run = run_ideally(trace)
    assert run.time_ns == plain.time_ns
    by_waiter = [0.0] * trace.nprocs
    for waiter, _, ns in run.pairs:
        assert ns > 0
        by_waiter[waiter] += ns
    assert by_waiter == pytest.approx(list(run.waiting_ns), abs=1e-6)
    assert sum(row.waiting_ns for row in run.causes) == pytest.approx(sum(run.waiting_ns), abs=1e-6)
    for row in run.direct:
        assert row.rank not in row.waiters
        assert sum(ns for _, ns in row.causes) == pytest.approx(row.waiting_ns)
    if len(run.direct) < root_causes.MAX_DIRECT:
        assert sum(row.waiting_ns for row in run.direct) == pytest.approx(sum(run.waiting_ns), abs=1e-6)
        for call in {row.node for row in run.direct} - {0}:
            waits = sum(row.waiting_ns for row in run.direct if row.node == call)
            assert run.by_call[call] == pytest.approx(waits)


def test_ranks_wait_at_the_end_for_the_last_one() -> None:
    """The late rank computes after the last barrier, before a call of its own."""
    b = Builder(3)
    last = b.event("Pcontrol", repeat=on({2: 1}), level=1, compute=Histogram.of(70))
    run = run_ideally(b.of(b.event("Barrier", comm=Comm()), last, every=True))
    assert run.time_ns == 70
    assert run.waiting_ns == (70, 70, 0)
    assert [(row.rank, row.waiting_ns, row.nranks) for row in run.causes] == [(2, 140, 2)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=6))
def test_the_last_rank_at_a_barrier_is_the_cause(rows: list[list[int]]) -> None:
    """Each rank computes as long as a table says before each barrier; the first of the latest ones counts."""
    b, nodes = Builder(4), []
    expected: dict[int, float] = {}
    for row in rows:
        for rank, ns in enumerate(row):
            nodes.append(
                b.event("Pcontrol", repeat=on({rank: 1}), level=1, compute=Histogram.of(10 * ns + rank))
            )
        nodes.append(b.event("Barrier", comm=Comm()))
        times = [10 * ns + rank for rank, ns in enumerate(row)]
        latest = times.index(max(times))
        expected[latest] = expected.get(latest, 0) + sum(max(times) - ns for ns in times)
    caused: dict[int, float] = {}
    for cause in run_ideally(b.of(*nodes, every=True)).causes:
        caused[cause.rank] = caused.get(cause.rank, 0) + cause.waiting_ns
    assert caused == pytest.approx(expected)


def test_many_calls_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_causes, "MAX_CALLS", 3)
    run = run_ideally(chain())
    assert run.waiting_ns == (50, 90, 150)
    assert run.causes == ()
    assert run.followed == 0


def test_the_longest_waits_are_followed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_causes, "MAX_STEPS", 1)
    run = run_ideally(chain())
    assert {waiter for waiter, *_ in run.pairs} == {2}
    assert run.followed == pytest.approx(150 / 290)


def test_the_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first computation of a rank is part of start-up, which is left out."""
    assert ideal_time_ns(chain()) == run_ideally(chain().without_phases).time_ns == 50
    monkeypatch.setattr(root_causes, "MAX_RANKS", 2)
    assert ideal_time_ns(chain()) is None
