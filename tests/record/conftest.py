"""Programs of these tests, compiled once per MPI, run plainly and under the tracer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scalatrace.trace.io.flatlog import FlatCall, FlatLog
from support.mpis import FLAGS_VARIABLE, Mpi
from support.running import Argument, Finished, mpirun, record, run

PROGRAMS = Path(__file__).with_name("programs")
Builder = Callable[[Mpi, str], Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """build(mpi, "ending.c") -> the program."""
    folder = tmp_path_factory.mktemp("built")

    def make(mpi: Mpi, source: str) -> Path:
        compiler = mpi.compiler("fort" if source.endswith(".f90") else "c")
        binary = folder / f"{source.replace('.', '-')}.{mpi.name}"
        if binary.exists():
            return binary
        if compiler is None:
            pytest.skip(f"{mpi.name} has no compiler for {source}")
        flags = ["-g", "-w", *os.environ.get(FLAGS_VARIABLE, "").split()]
        made = run([compiler, *flags, "-o", binary, PROGRAMS / source], env=mpi.environment(), cwd=folder)
        if made.returncode and source.endswith(".f90"):
            pytest.skip(f"{mpi.name} cannot compile Fortran here: {made.stderr[-200:]}")
        made.check()
        return binary

    return make


@dataclass(frozen=True)
class Traced:
    """A run under the tracer: what it said, its trace, its flat logs."""

    finished: Finished
    trace: Path
    logs: Path

    def calls(self, rank: int) -> list[FlatCall]:
        """The rank's events from its flat log."""
        return list(FlatLog(self.logs / f"rank-{rank}.log"))

    def ops(self, rank: int) -> Counter[str]:
        return Counter(call.op for call in self.calls(rank))


@pytest.fixture
def traced(tmp_path: Path) -> Callable[..., Traced]:
    """traced(mpi, nprocs, argv, *options, env=...) -> Traced."""

    def make(mpi: Mpi, nprocs: int, argv: list[Argument], *options: Argument, **more: object) -> Traced:
        trace, logs = tmp_path / "a.st", tmp_path / "logs"
        given: dict[str, Any] = {"options": ["--flat-log", logs, *options], "timeout": 300, **more}
        finished = record(mpi, nprocs, argv, trace, **given)
        return Traced(finished, trace, logs)

    return make


def sorted_lines(finished: Finished) -> list[str]:
    """Output of a run; ranks print in any order."""
    return sorted(finished.stdout.splitlines())


def plain(mpi: Mpi, nprocs: int, argv: list[Argument], cwd: Path) -> Finished:
    return mpirun(mpi, nprocs, argv, cwd=cwd, timeout=120)
