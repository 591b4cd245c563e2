"""MPI_Pcontrol on all ranks or some: what is recorded while it is off, and whether the trace can run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import scalatrace as package
from record.conftest import Builder, Traced
from support.mpis import Mpi
from support.running import mpirun, scalatrace

pytestmark = pytest.mark.mpi


def _run(mpi: Mpi, build: Builder, traced: Callable[..., Traced], mode: str) -> Traced:
    run = traced(mpi, 3, [build(mpi, "partly.c"), mode])
    run.finished.check()
    assert "lossless" in scalatrace(mpi, "verify", run.trace, run.logs).check().stdout
    return run


def _replay(mpi: Mpi, trace: Path, *options: str) -> tuple[int, str]:
    arguments = [mpi.python, "-m", "scalatrace", "replay", trace, *options]
    result = mpirun(mpi, 3, arguments, timeout=60)
    return result.returncode, result.stderr


def test_off_on_all_ranks(mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    """Communicators and persistent requests made while recording is off are there; the replay runs."""
    run = _run(mpi, build, traced, "together")
    for rank in range(3):
        ops = run.ops(rank)
        assert (ops["Startall"], ops["Waitall"], ops["Allreduce"], ops["Comm_dup"]) == (6, 6, 6, 10)
        assert ops["Recv_init"] == ops["Request_free"] / 2 == 2
        assert "Barrier" not in ops
        waits = [call.values[0] for call in run.calls(rank) if call.op == "Wait"]
        assert waits == [0, 0]  # while recording was off, and after it
    assert package.load(run.trace).counts["switched off"] == 3 * (3 * 3 + 4)
    assert "39 calls while recording was off" in scalatrace(mpi, "info", run.trace).check().stdout
    status, error = _replay(mpi, run.trace, "--verify")
    assert status == 0, error


@pytest.mark.parametrize("mode", ["halo", "collective"])
def test_off_on_some_ranks(
    openmpi: Mpi, build: Builder, traced: Callable[..., Traced], mode: str, tmp_path: Path
) -> None:
    """The calls without partners are named in one line, by all commands."""
    run = _run(openmpi, build, traced, mode)
    why = "made while recording was switched off (MPI_Pcontrol), and the trace cannot run alone: rank "
    status, error = _replay(openmpi, run.trace)
    assert status == 1
    assert [line for line in error.splitlines() if why in line and "MPI_Allreduce" in line]
    assert "Traceback" not in error
    simulated = scalatrace(openmpi, "simulate", run.trace, "--platform", "cluster")
    assert simulated.returncode == 1
    assert why in simulated.stderr
    generated = scalatrace(openmpi, "generate", run.trace, "--to", "c", "-o", tmp_path / "a.c").check()
    assert "recording was switched off (MPI_Pcontrol)" in generated.stderr
    exported = scalatrace(openmpi, "export", run.trace, "--to", "goal", "-o", tmp_path / "a.goal").check()
    assert why in exported.stdout
