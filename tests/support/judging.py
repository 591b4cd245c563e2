"""What every program must stand: tracing changes nothing and loses nothing, a replay is the same again."""

from __future__ import annotations

from pathlib import Path

from support.mpis import Mpi
from support.running import Argument, mpirun, record, scalatrace


def same_and_lossless(mpi: Mpi, nprocs: int, command: list[Argument], folder: Path) -> None:
    """Run a program without and with the tracer; compare what it says, then its trace with its flat logs."""
    trace, logs = folder / "a.st", folder / "logs"
    plain = mpirun(mpi, nprocs, command, cwd=folder, timeout=300).check()
    traced = record(mpi, nprocs, command, trace, options=["--flat-log", logs], timeout=300)
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout), traced.stderr
    assert len(list(logs.glob("rank-*.log"))) == nprocs
    scalatrace(mpi, "verify", trace, logs, timeout=300).check()


def fixed_point(mpi: Mpi, nprocs: int, trace: Path, folder: Path) -> None:
    """Record the replay of a trace; the two traces differ at most in call sites and times."""
    again = folder / "again.st"
    replay = [*mpi.scalatrace(), "replay", trace]
    record(mpi, nprocs, replay, again, timeout=300).check()
    scalatrace(mpi, "diff", trace, again, "--ignore", "callsites,times").check()
