"""Start-up and shut-down: against all calls laid out, and on programs whose phases are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from scalatrace import Trace, load
from scalatrace.convert.ranks import RankCalls, write_trace
from scalatrace.operations import communicates
from scalatrace.report.costs.rows import whole_time
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.phases.scan import CommunicatingRanks, Scan
from support.timed import COMMS, S, solver, timed, trace_of
from support.traces import traces


def _with_partners(trace: Trace, family: int, rank: int) -> bool:
    comm = trace.communicator(family, rank)
    return trace.is_world(family) or comm.size + len(comm.remote or ()) > 1


def _outer_calls(trace: Trace, rank: int) -> tuple[set[int], set[int]]:
    """The event nodes of which a rank runs all calls before, or all after its communicating ones."""
    calls = list(trace.walk(rank))
    joined = [i for i, c in enumerate(calls) if communicates(c.op) and _with_partners(trace, c.family, rank)]
    first, last = (joined[0], joined[-1]) if joined else (len(calls), -1)
    inner_of_first = {id(call.node) for call in calls[first:]}
    inner_of_last = {id(call.node) for call in calls[: last + 1]}
    ran = {id(call.node) for call in calls}
    return ran - inner_of_first, ran - inner_of_last


@settings(max_examples=25)
@given(traces())
def test_nodes_of_a_phase_run_in_it_only(trace: Trace) -> None:
    for backward in (False, True):
        inside = Scan(trace, CommunicatingRanks(trace), backward).inside
        for rank in range(trace.nprocs):
            ran = {id(call.node) for call in trace.walk(rank)}
            assert set(inside) & ran <= _outer_calls(trace, rank)[backward]


@settings(max_examples=25)
@given(traces())
def test_nodes_outside_loops_are_all_in_their_phase(trace: Trace) -> None:
    trace.nodes[:] = [node for node in trace.nodes if isinstance(node, Event)]
    ranks = [_outer_calls(trace, rank) for rank in range(trace.nprocs)]
    ran = [{id(call.node) for call in trace.walk(rank)} for rank in range(trace.nprocs)]
    for backward in (False, True):
        inside = Scan(trace, CommunicatingRanks(trace), backward).inside
        for node in trace.leaves():
            takes_part = [rank for rank in range(trace.nprocs) if id(node) in ran[rank]]
            expected = takes_part and all(id(node) in ranks[rank][backward] for rank in takes_part)
            assert (id(node) in inside) == bool(expected)


def _compute_s(trace: Trace) -> float:
    return (whole_time(trace).compute_ns or 0.0) / S / len(trace.ranks)


def test_phases_of_asolver(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "a.st", [solver(rank) for rank in range(4)], COMMS)
    phases = trace.phases
    assert phases.start_up.mean_ns == pytest.approx(2.9 * S, rel=0.01)
    assert 3.05 * S < phases.start_up.max_ns < 3.3 * S
    assert phases.shut_down.mean_ns == pytest.approx(0.5 * S, rel=0.01)
    assert _compute_s(trace) == pytest.approx(2.15 + 0.375 + 5.05, rel=0.01)
    assert _compute_s(trace.without_phases) == pytest.approx(5.05, rel=0.01)
    times = whole_time(trace.without_phases)
    assert times.timed == 4 * (1 + 2 * 50)  # neither Cart_create, Type_commit nor Comm_free


def test_phases_are_taken_once(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "a.st", [solver(rank) for rank in range(4)], COMMS)
    left = trace.without_phases
    assert left.without_phases is left
    assert left.phases is trace.phases
    assert _compute_s(trace) > _compute_s(left)  # the trace itself is as it was


def test_loads_are_those_of_what_is_left(tmp_path: Path) -> None:
    """Two seconds of start-up would make an imbalance of 16 to 1 one of 4 to 1."""
    ranks = [solver(rank, load=(1.6, 0.1, 0.1, 0.1)[rank]) for rank in range(4)]
    left = trace_of(tmp_path / "a.st", ranks, COMMS).without_phases
    load = left.load_of("compute_ns")
    assert load is not None
    shares = np.exp2(np.array(load.first(4)) / LOAD_STEPS)
    assert shares == pytest.approx(np.array([8.05, 0.55, 0.55, 0.55]) / 2.425, abs=0.1)
    assert shares[0] == pytest.approx(8.05 / 2.425, rel=0.05)


def _factors(trace: Trace) -> np.ndarray:
    load = trace.load_of("compute_ns")
    assert load is not None
    return np.exp2(np.array(load.first(len(trace.ranks))) / LOAD_STEPS)


def test_a_long_start_up_hides_no_imbalance(tmp_path: Path) -> None:
    """Two steps of 0.1 s after two seconds of start-up, in which rank 3 takes longer."""
    ranks = [solver(rank, steps=2, load=1 + (rank == 1)) for rank in range(4)]
    trace = trace_of(tmp_path / "a.st", ranks, COMMS)
    between = np.array([0.2, 0.4, 0.2, 0.2])
    assert _factors(trace.without_phases) == pytest.approx(between / between.mean(), rel=0.05)
    start_up = 0.5 + 1.5 + 0.15
    run = between + start_up + 0.375
    assert _factors(trace) == pytest.approx(run / run.mean(), rel=0.05)


@pytest.mark.parametrize(("start_up_s", "known"), [(0.01, True), (5, False)])
def test_loads_of_the_whole_run_stand_for_what_is_left(
    tmp_path: Path, start_up_s: float, known: bool
) -> None:
    """Files of earlier versions have these; they are used where start-up is next to nothing."""
    calls = [timed("Barrier", start_up_s * S, 0, 1, comm="world"), *solver(0)[3:-1]]
    trace = trace_of(tmp_path / "a.st", [calls] * 4, COMMS)
    trace.load_between = False
    assert trace.phases
    assert trace.load_of("compute_ns") is not None
    assert (trace.without_phases.load_of("compute_ns") is not None) == known


def test_a_remote_group_of_one_rank_has_partners(tmp_path: Path) -> None:
    """The size of an intercommunicator is that of the remote group."""

    def record(rank: int) -> RankCalls:
        calls = RankCalls(rank, 3, ("compute_ns", "comm_ns"))
        own, other = ([0], [1, 2]) if rank == 0 else ([1, 2], [0])
        calls.comm("inter", "inter", own, remote=other)
        for compute_s in (5, *[1 + rank] * 3):
            calls.append("Barrier", [("comm", Kind.COMM, "inter")], ("a.py:1:f",), (compute_s * S, 0.1 * S))
        return calls

    write_trace(range(3), record, path := tmp_path / "a.st", {"program": "app.py"})
    trace = load(path)
    assert trace.load_between
    assert _factors(trace.without_phases) == pytest.approx(np.array([1, 2, 3]) / 2, rel=0.05)


def test_one_point_of_communication_keeps_the_loads(tmp_path: Path) -> None:
    ranks = [[timed("Barrier", (1 + rank) * S, 0, 1, comm="world")] for rank in range(4)]
    trace = trace_of(tmp_path / "a.st", ranks, COMMS)
    assert not trace.load_between
    assert _factors(trace) == pytest.approx(np.array([1, 2, 3, 4]) / 2.5, rel=0.05)


@pytest.mark.parametrize(
    ("comm", "told"), [("grid", True), ("rows", True), ("alone", False), ("self", False)]
)
def test_calls_of_one_rank_do_not_end_start_up(tmp_path: Path, comm: str, told: bool) -> None:
    """A call on a communicator of one rank before the first one with others."""
    calls = [timed("Barrier", 1 * S, 0, 1, comm=comm), *solver(0)[2:]]
    trace = trace_of(tmp_path / "a.st", [calls] * 4, COMMS)
    assert trace.phases.start_up.mean_ns == pytest.approx((1.0 if told else 2.5) * S, rel=0.01)


def test_one_rank_has_phases_of_its_calls_on_the_world(tmp_path: Path) -> None:
    calls = [*solver(0, comm="world")[1:-1], timed("Type_free", 0.5 * S, 0, 6)]
    phases = trace_of(tmp_path / "a.st", [calls]).phases
    assert phases.start_up.mean_ns == pytest.approx(2.0 * S, rel=0.01)
    assert phases.shut_down.mean_ns == pytest.approx(0.5 * S, rel=0.01)


def test_ranks_with_different_first_calls(tmp_path: Path) -> None:
    """A master that reads for 3 s, a worker that is ready after 1 s, and a rank that takes no part."""
    master = [timed("Recv", 0.1 * S, 0.1 * S, 2, source=1, count=1, comm="world") for _ in range(40)]
    worker = [timed("Send", 0.2 * S, 0.1 * S, 3, dest=0, count=1, comm="world") for _ in range(40)]
    ends = [timed("Type_free", 0.5 * S, 0, 4)]
    ranks = [
        [timed("Type_commit", 1 * S, 0, 1), master[0]._replace(compute_ns=2 * S), *master[1:], *ends],
        [timed("Type_commit", 1 * S, 0, 1), worker[0]._replace(compute_ns=0), *worker[1:], *ends],
        [timed("Type_commit", 1 * S, 0, 1), *ends],
    ]
    trace = trace_of(tmp_path / "a.st", ranks)
    assert trace.phases.start_up.mean_ns == pytest.approx((3 + 1 + 1) / 3 * S, rel=0.01)
    assert trace.phases.shut_down.mean_ns == pytest.approx(0.5 * S, rel=0.01)
    assert trace.phases.start_up.max_ns == pytest.approx(3 * S, rel=0.01)


@pytest.mark.parametrize("nreduces", [1, 2])
def test_a_program_that_communicates_at_one_point_has_no_phases(tmp_path: Path, nreduces: int) -> None:
    """Its whole computation would be start-up."""
    calls = [
        timed("Reduce", 10 * S if i == 0 else 1000, 0, 1 + i, count=1, comm="world") for i in range(nreduces)
    ]
    trace = trace_of(tmp_path / "a.st", [[*calls, timed("Comm_free", 1 * S, 0, 9, comm="world")]] * 2)
    assert not trace.phases
    assert trace.without_phases is trace


def test_input_and_output_around_the_computation(tmp_path: Path) -> None:
    """Three calls are enough where the program computes between them."""
    calls = [timed("Bcast", 1 * S, 0, 1, comm="world"), timed("Reduce", 4 * S, 0, 2, comm="world")]
    trace = trace_of(tmp_path / "a.st", [[*calls, timed("Comm_free", 2 * S, 0, 3, comm="world")]] * 2)
    assert trace.phases.start_up.mean_ns == pytest.approx(1 * S, rel=0.01)
    assert trace.phases.shut_down.mean_ns == pytest.approx(2 * S, rel=0.01)
    assert _compute_s(trace.without_phases) == pytest.approx(4, rel=0.01)


def test_a_mark_ends_start_up(tmp_path: Path) -> None:
    calls = [timed("Pcontrol", 1 * S, 0, 1, level=1), *solver(0)[2:]]
    assert trace_of(tmp_path / "a.st", [calls] * 4, COMMS).phases.start_up.mean_ns == pytest.approx(
        1 * S, rel=0.01
    )
