"""Calls that return errors: events with the error, and what replays and generated programs make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import scalatrace as package
from record.conftest import Builder, Traced, plain, sorted_lines
from scalatrace.trace.consistency.failed import repeatable
from support import running
from support.mpis import Mpi
from support.running import mpirun, scalatrace

pytestmark = pytest.mark.mpi

PYTHON = """\
from mpi4py import MPI
comm = MPI.COMM_WORLD
for _ in range(2):
    try:
        MPI.File.Open(comm, "/nonexistent/x")
    except MPI.Exception as error:
        assert error.Get_error_class() != MPI.SUCCESS
if comm.rank == 0:
    comm.Send(bytearray(8), 1)
    comm.send("more", 1)
elif comm.rank == 1:
    try:
        comm.Recv(bytearray(2), 0)
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_TRUNCATE
    assert comm.recv(source=0) == "more"
try:
    comm.Send(b"", 999)
except MPI.Exception:
    print("caught", flush=True)
comm.Barrier()
"""

REFUSED = {
    "Send_failed": {"MPI_ERR_RANK": 3, "MPI_ERR_COUNT": 1, "MPI_ERR_TAG": 1},
    "Irecv_failed": {"MPI_ERR_RANK": 1},
    "Bcast_failed": {"MPI_ERR_ROOT": 1},
    "Comm_create_failed": {"MPI_ERR_GROUP": 1},
    "Comm_free_failed": {"MPI_ERR_COMM": 2},
    "Put_failed": {"MPI_ERR_RANK": 1},
}
TRUNCATED = {
    "Recv_error": {"MPI_ERR_TRUNCATE": 1},
    "Waitall_error": {"MPI_ERR_IN_STATUS": 1},
    "Wait_error": {"MPI_ERR_TRUNCATE": 1},
    "Sendrecv_error": {"MPI_ERR_TRUNCATE": 1},
}


@pytest.fixture
def run_failing(any_mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> Callable[..., Traced]:
    def run(*words: str) -> Traced:
        result = traced(any_mpi, 2, [build(any_mpi, "failing.c"), *words])
        assert result.finished.check().stdout == "truncated 1\n"
        return result

    return run


def _errors(run: Traced, rank: int) -> dict[str, dict[str, int]]:
    errors: dict[str, Counter[str]] = {}
    for call in package.load(run.trace).walk(rank):
        if call.op.endswith(("_failed", "_error")):
            errors.setdefault(call.op, Counter())[call["error"]] += 1
    return {op: dict(counts) for op, counts in errors.items()}


@pytest.mark.parametrize("words", [(), ("handled",)], ids=["returned", "handled"])
def test_events_have_the_error(
    any_mpi: Mpi, run_failing: Callable[..., Traced], words: tuple[str, ...]
) -> None:
    """Also where the program's error handlers run: after them, MPICH 5 returns MPI_SUCCESS."""
    run = run_failing(*words)
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    errors = _errors(run, 1)
    assert set(errors.pop("File_open_failed")) <= {"MPI_ERR_NO_SUCH_FILE", "MPI_ERR_OTHER"}
    assert errors == REFUSED | TRUNCATED
    trace = package.load(run.trace)
    assert trace.counts["failed"] == 2 * 12  # File_delete is a query
    assert run.ops(1)["Barrier"] == 1
    shown = scalatrace(any_mpi, "show", run.trace).check().stdout
    assert "Send_failed  error=MPI_ERR_RANK" in shown
    assert "Recv_error" in scalatrace(any_mpi, "stats", run.trace).check().stdout
    assert "failed" in scalatrace(any_mpi, "info", run.trace).check().stdout


def test_what_failed_calls_did_is_repeated(
    any_mpi: Mpi, run_failing: Callable[..., Traced], tmp_path: Path
) -> None:
    """Truncated messages are received, refused calls are not made."""
    if any_mpi.python is None:
        pytest.skip(f"no mpi4py for {any_mpi.name}")
    run = run_failing()
    for engine in ("python", "compiled"):
        replay = [any_mpi.python, "-m", "scalatrace", "replay", run.trace, "--verify", "--engine", engine]
        mpirun(any_mpi, 2, replay, timeout=90).check()
    scalatrace(any_mpi, "simulate", run.trace, "--platform", "cluster").check()
    scalatrace(any_mpi, "export", run.trace, "--to", "goal", "-o", tmp_path / "a.goal").check()
    scalatrace(any_mpi, "generate", run.trace, "--to", "c", "-o", tmp_path / "a.c").check()
    again = tmp_path / "again.st"
    program = tmp_path / "a"
    compiler = any_mpi.compiler("c")
    assert compiler is not None
    running.run([compiler, "-w", "-o", program, tmp_path / "a.c", "-lm"], env=any_mpi.environment()).check()
    mpirun(any_mpi, 2, [any_mpi.python, "-m", "scalatrace", "record", "-o", again, "--", program]).check()
    first, second = (repeatable(package.load(path)) for path in (run.trace, again))
    assert Counter(c.op for c in first.walk(1)) == Counter(c.op for c in second.walk(1))
    python = scalatrace(any_mpi, "generate", run.trace, "--to", "python", "-o", tmp_path / "a.py")
    assert "too long for their receives: use --to c" in python.stderr


@pytest.mark.parametrize("source", ["failing.f90", "failing08.f90"])
def test_errors_in_fortran(
    any_mpi: Mpi, source: str, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """By both modules: the program has its error codes, the trace the calls."""
    argv = [build(any_mpi, source)]
    untraced = plain(any_mpi, 2, argv, tmp_path).check()
    run = traced(any_mpi, 2, argv)
    assert sorted_lines(run.finished.check()) == sorted_lines(untraced)
    assert sorted_lines(untraced) == ["rank 0, errors: 6", "rank 1, errors: 7"]
    assert run.finished.warnings == ""
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    refused = {
        "Send_failed": {"MPI_ERR_RANK": 3},
        "Irecv_failed": {"MPI_ERR_RANK": 1},
        "Bcast_failed": {"MPI_ERR_ROOT": 1},
        "Comm_free_failed": {"MPI_ERR_COMM": 1},
    }
    assert _errors(run, 0) == refused
    assert _errors(run, 1) == refused | {"Recv_error": {"MPI_ERR_TRUNCATE": 1}}


def test_exceptions_in_python(mpi: Mpi, traced: Callable[..., Traced], tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(PYTHON)
    run = traced(mpi, 2, [mpi.python, tmp_path / "failing.py"])
    assert run.finished.check().stdout == "caught\n" * 2
    ops = run.ops(1)
    assert (ops["File_open_failed"], ops["Recv_error"], ops["Send_failed"]) == (2, 1, 1)
    replay = [mpi.python, "-m", "scalatrace", "replay", run.trace, "--verify"]
    mpirun(mpi, 2, replay, timeout=90).check()
