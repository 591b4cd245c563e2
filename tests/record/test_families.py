"""Every family of calls, in C and Fortran, under every MPI: same output, lossless trace, the right events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import Builder, Traced, plain, sorted_lines
from support.mpis import Mpi
from support.running import scalatrace

pytestmark = pytest.mark.mpi
PROGRAMS = ("pointtopoint.c", "completion.c", "collectives.c", "communicators.c", "onesided_io.c", "mpi4.c")
FORTRAN = ("bindings.f90", "bindings08.f90")


@pytest.mark.parametrize("source", PROGRAMS + FORTRAN)
def test_program_is_unchanged_and_trace_is_lossless(
    any_mpi: Mpi, source: str, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    argv = [build(any_mpi, source), tmp_path / "data"]
    untraced = plain(any_mpi, 4, argv, tmp_path).check()
    run = traced(any_mpi, 4, argv)
    assert run.finished.returncode == 0, run.finished.stderr
    assert sorted_lines(run.finished) == sorted_lines(untraced)
    assert "scalatrace:" not in run.finished.warnings
    assert "4 ranks" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout


#: Requests are claimed before a completion call where other threads may make requests, else after it.
LEVELS = pytest.mark.parametrize("level", [{}, {"MULTIPLE": "1"}], ids=["single", "multiple"])


@LEVELS
def test_completion_events(
    any_mpi: Mpi, build: Builder, traced: Callable[..., Traced], level: dict[str, str]
) -> None:
    """Ages count from the newest; polls that failed are no events; Waitsome calls in a row are one event."""
    run = traced(any_mpi, 2, [build(any_mpi, "completion.c")], env=level)
    calls = run.calls(0)
    waits = [call.values[0] for call in calls if call.op == "Wait"]
    assert waits == list(range(11, -1, -1))  # oldest first, each time with one request fewer
    assert next(call.values[0] for call in calls if call.op == "Waitall") == tuple(range(11, -1, -1))
    ops = run.ops(0)
    assert ops["Waitsome"] == 1
    assert ops["Test"] == 12  # backwards: the newest each time
    assert [call.values[0] for call in calls if call.op == "Test"] == [0] * 12
    assert ops["Testall"] == 1
    assert ops["Testany"] == 12
    some = [request for call in calls if call.op == "Waitsome" for request in call.values[0]]
    assert some == list(range(11, -1, -1))


@LEVELS
def test_what_waitsome_completed_is_dead_for_the_next_call(
    any_mpi: Mpi, build: Builder, traced: Callable[..., Traced], level: dict[str, str]
) -> None:
    """Waitsome is written once it is over, but before the next call names its requests."""
    run = traced(any_mpi, 1, [build(any_mpi, "some.c")], env=level)
    run.finished.check()
    on_requests = ("Wait", "Test", "Start", "Request_free")
    ended = [(call.op, call.values[0]) for call in run.calls(0) if call.op.startswith(on_requests)]
    assert ended == [
        ("Waitsome", (0,)),
        ("Wait", 0),
        ("Waitsome", (0,)),
        ("Waitsome", (0,)),
        ("Waitall", (1, 0)),
        ("Testsome", (0,)),
        ("Waitsome", (0,)),
        ("Testany", (0,)),
        ("Waitsome", (0,)),  # from three places on different arrays: three events
        ("Waitsome", (0,)),
        ("Waitsome", (0,)),
        ("Start", 0),
        ("Wait", 0),
        ("Request_free", 0),
        ("Waitsome", (0,)),
        ("Wait", 0),  # while events were off
        ("Wait", 0),
    ]


def test_collective_parameters(any_mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    """What MPI says is not significant is not recorded: it may be anything."""
    run = traced(any_mpi, 4, [build(any_mpi, "collectives.c")])
    undefined = -1000000004
    gather_at_leaf = next(call for call in run.calls(2) if call.op == "Gather")
    assert gather_at_leaf.values[2] == undefined
    gather_at_root = next(call for call in run.calls(1) if call.op == "Gather")
    assert gather_at_root.values[2] == 2
    assert next(call for call in run.calls(0) if call.op == "Gatherv").values[2] == ()
    in_place = [call for call in run.calls(0) if call.op == "Allreduce"]
    assert [call.values[-1] for call in in_place[:2]] == [0, 1]


def test_communicators_have_members(any_mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    """Families are named alike on all ranks, though only some ranks called Comm_create_group."""
    import scalatrace as package

    run = traced(any_mpi, 4, [build(any_mpi, "communicators.c")])
    families = package.load(run.trace).comms
    kinds = [family.kind for family in families]
    for kind in ("dup", "create", "create_group", "split", "cart", "cart_sub", "dist_graph", "graph"):
        assert kind in kinds, kinds
    assert kinds.count("dup") == 7  # five of one handle, the idup and its copy
    odd_free = families[kinds.index("create_group")]
    assert [m for m in run.calls(1) if m.op == "Comm_create_group"] == []
    assert odd_free.kind == "create_group"


def test_queries_are_counted_or_recorded(openmpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    import scalatrace as package

    program = [build(openmpi, "ending.c")]
    counted = traced(openmpi, 2, program)
    assert package.load(counted.trace).counts["Comm_rank"] == 2
    assert counted.ops(0) == {"Allreduce": 7}
    recorded = traced(openmpi, 2, program, "--record-queries")
    assert recorded.ops(0) == {"Allreduce": 7, "Comm_rank": 1}
