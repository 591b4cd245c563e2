"""More than one world: sessions, processes that are spawned, programs that connect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import scalatrace as package
from record.conftest import Builder, Traced, plain, sorted_lines
from scalatrace.trace.values.vec import UNDEFINED
from support.mpis import Mpi
from support.running import mpirun, run, scalatrace

pytestmark = pytest.mark.mpi


@pytest.fixture
def both(build: Builder, traced: Callable[..., Traced], tmp_path: Path) -> Callable[..., Traced]:
    """both(mpi, source, *arguments) -> the traced run, its output compared with a plain run."""

    def make(mpi: Mpi, source: str, *arguments: str) -> Traced:
        argv = [build(mpi, source), *arguments]
        untraced = plain(mpi, 4, argv, tmp_path)
        if untraced.returncode:
            pytest.skip(f"{mpi.name} cannot do this here: {untraced.stderr[-200:]}")
        run = traced(mpi, 4, argv)
        assert run.finished.returncode == 0, run.finished.stderr
        assert sorted_lines(run.finished) == sorted_lines(untraced)
        return run

    return make


CALLS_PER_STEP = {"a": 13, "o": 12, "c": 12, "w": 11, "p": 48}


@pytest.mark.parametrize("steps", ["a", "p", "iowcf", "oiwcf"])
def test_sessions_with_and_without_init(any_mpi: Mpi, both: Callable[..., Traced], steps: str) -> None:
    run = both(any_mpi, "sessions.c", steps)
    if "no sessions" in run.finished.stdout:
        pytest.skip(f"{any_mpi.name} has no sessions")
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    assert run.ops(3).total() == sum(CALLS_PER_STEP.get(step, 0) for step in steps)
    assert run.finished.warnings == ""
    assert not run.trace.with_name("a.st.parts").exists()


@pytest.mark.parametrize("source", ["sessions.f90", "sessions08.f90"])
def test_sessions_in_fortran(any_mpi: Mpi, source: str, both: Callable[..., Traced]) -> None:
    """By both modules: a session, and MPI_Init beside it."""
    run = both(any_mpi, source)
    assert "wrong: 0" in run.finished.stdout
    assert "wrong: 1" not in run.finished.stdout
    assert run.finished.warnings == ""
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    ops = run.ops(3)
    assert (ops["Irecv"], ops["Send"], ops["Wait"], ops["Allreduce"]) == (3, 3, 3, 15)
    assert ops["Comm_create_from_group"] == 1


@pytest.mark.parametrize("steps", ["aa", "aiwf"])
def test_sessions_one_after_another(any_mpi: Mpi, both: Callable[..., Traced], steps: str) -> None:
    run = both(any_mpi, "sessions.c", steps)  # Open MPI 5 crashes, also without the tracer
    if "no sessions" in run.finished.stdout:
        pytest.skip(f"{any_mpi.name} has no sessions")
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    assert run.ops(3).total() == sum(CALLS_PER_STEP.get(step, 0) for step in steps)


def test_calls_after_finalize_are_named_as_not_recorded(any_mpi: Mpi, both: Callable[..., Traced]) -> None:
    run = both(any_mpi, "sessions.c", "oiwfc")
    if "no sessions" in run.finished.stdout:
        pytest.skip(f"{any_mpi.name} has no sessions")
    assert run.finished.stderr.count("calls in sessions after MPI_Finalize are not recorded") == 1
    assert run.ops(3).total() == CALLS_PER_STEP["o"] + CALLS_PER_STEP["w"]


SESSION = """\
from mpi4py import rc
rc.initialize = False
from mpi4py import MPI
session = MPI.Session.Init()
group = session.Create_group("mpi://WORLD")
comm = MPI.Intracomm.Create_from_group(group, "all")
assert comm.allreduce(comm.rank) == 3
if comm.rank == 0:
    comm.send("hello", 1)
elif comm.rank == 1:
    assert comm.recv(source=0) == "hello"
comm.Free()
session.Finalize()
"""


def test_a_session_of_mpi4py(openmpi: Mpi, traced: Callable[..., Traced], tmp_path: Path) -> None:
    """MPICH ends this program, also without the tracer: mpi4py uses MPI_COMM_SELF before MPI_Init."""
    (tmp_path / "session.py").write_text(SESSION)
    run = traced(openmpi, 3, [openmpi.python, tmp_path / "session.py"])
    run.finished.check()
    assert "lossless" in scalatrace(openmpi, "verify", run.trace, run.logs).check().stdout
    assert run.ops(1)["Comm_create_from_group"] == 1
    scalatrace(openmpi, "simulate", run.trace, "--platform", "cluster").check()
    program = scalatrace(openmpi, "generate", run.trace, "--to", "c", "-o", tmp_path / "a.c")
    assert "cannot write MPI_Comm_create_from_group" in program.stderr


def test_traces_of_sessions_are_not_replayed(any_mpi: Mpi, both: Callable[..., Traced]) -> None:
    run = both(any_mpi, "sessions.c", "a")
    if any_mpi.python is None or "no sessions" in run.finished.stdout:
        pytest.skip(f"{any_mpi.name} has no sessions, or no Python")
    replay = mpirun(any_mpi, 4, [*any_mpi.scalatrace(), "replay", run.trace], timeout=60)
    assert replay.returncode
    assert "no handler for MPI_Comm_create_from_group" in replay.stderr
    assert "Traceback" not in replay.stderr


def test_spawned_processes_are_members_of_another_world(any_mpi: Mpi, both: Callable[..., Traced]) -> None:
    run = both(any_mpi, "spawn.c")
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    trace = package.load(run.trace)
    merged = next(call for call in trace.walk(2) if call.op == "Allreduce")
    assert merged.comm.members == (0, 1, 2, 3, UNDEFINED, UNDEFINED)
    family = next(call for call in trace.walk(2) if call.op == "Bcast")
    assert family.comm.remote == (UNDEFINED, UNDEFINED)
    assert trace.matrix("messages").sum() == 0  # the one message goes to a child
    assert "spawned" in scalatrace(any_mpi, "info", run.trace).check().stdout
    assert "Spawned processes are not recorded" in run.finished.stderr


def test_children_have_a_trace_of_their_own(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """With the launcher itself under `record`, Open MPI hands the tracer on to what is spawned."""
    trace, logs = tmp_path / "a.st", tmp_path / "logs"
    argv = [openmpi.mpiexec, "-n", "3", build(openmpi, "spawn.c")]
    command = [*openmpi.recorder(), "-o", trace, "--flat-log", logs, "--", *argv]
    for _ in range(2):  # the second run's children take the place of the first's
        run(command, env=openmpi.environment(), cwd=tmp_path, timeout=120).check()
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == ["a.st", "a.st.child-1", "logs"]
    assert "3 ranks" in scalatrace(openmpi, "verify", trace, logs).check().stdout
    children = scalatrace(openmpi, "verify", tmp_path / "a.st.child-1", logs / "child-1").check()
    assert "2 ranks" in children.stdout
    assert "a.st.child-1" in scalatrace(openmpi, "info", trace).check().stdout


def test_connected_halves(any_mpi: Mpi, both: Callable[..., Traced]) -> None:
    run = both(any_mpi, "connect.c")
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    trace = package.load(run.trace)
    low, high = (next(c for c in trace.walk(rank) if c.op == "Allreduce").comm for rank in (0, 3))
    assert low.members == high.remote == (0, 1)
    assert low.remote == high.members == (2, 3)
