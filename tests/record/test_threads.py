"""MPI called by threads that a C library starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import PROGRAMS, Builder, Traced
from scalatrace import load
from support.mpis import Mpi
from support.running import run, scalatrace

pytestmark = pytest.mark.mpi

WITH_THE_GIL = """\
import ctypes, sys
from mpi4py import MPI
library = ctypes.PyDLL(sys.argv[1])  # keeps the GIL while its function waits for its own thread
for _ in range(3):
    print(library.count_ranks())
MPI.COMM_WORLD.Barrier()
"""

STAT = """\
import scalatrace
class Calls(scalatrace.Stat):
    def start(self): self.n = 0.0
    def end(self): return 1.0
"""


@pytest.mark.parametrize("stacks", ["auto", "python", "native"])
def test_library_that_keeps_the_gil(
    mpi: Mpi, traced: Callable[..., Traced], tmp_path: Path, stacks: str
) -> None:
    """A thread without a Python thread state must not wait for the GIL."""
    library, program, stat = tmp_path / "threads.so", tmp_path / "gil.py", tmp_path / "stat.py"
    source = PROGRAMS / "threads.c"
    run([mpi.mpicc, "-shared", "-fPIC", "-o", library, source], env=mpi.environment()).check()
    program.write_text(WITH_THE_GIL)
    stat.write_text(STAT)
    argv = [mpi.python, program, library]
    traced_run = traced(mpi, 2, argv, "--stacks", stacks, "--stat", f"{stat}:Calls")
    assert sorted(traced_run.finished.check().stdout.replace("\n", "")) == ["2"] * 6
    assert traced_run.ops(0) == {"Allreduce": 3, "Barrier": 1}
    stacks_of = {call.op: call.stack for call in load(traced_run.trace).walk(0)}
    assert "threads.so" in str(stacks_of["Allreduce"])
    assert ("gil.py" in str(stacks_of["Barrier"])) == (stacks != "native")


def test_threads_that_make_communicators(any_mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    """Every communicator has a name of its own."""
    for _ in range(3):
        made = traced(any_mpi, 3, [build(any_mpi, "threads.c")])
        if made.finished.returncode == 77:
            pytest.skip(f"{any_mpi.name} has no MPI_THREAD_MULTIPLE")
        made.finished.check()
        trace = load(made.trace)
        for rank in range(3):
            names = [c.raw("newcomm") for c in trace.walk(rank) if c.op == "Comm_create_group"]
            assert len(set(names)) == len(names) == 80
        assert "lossless" in scalatrace(any_mpi, "verify", made.trace, made.logs).check().stdout


def test_threads_and_checkpoints(any_mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    """Threads record while the main thread switches events and the helper thread saves parts."""
    made = traced(any_mpi, 2, [build(any_mpi, "busy_threads.c"), "2.5"], "--checkpoint", "1")
    if made.finished.returncode == 77:
        pytest.skip(f"{any_mpi.name} has no MPI_THREAD_MULTIPLE")
    assert "scalatrace" not in made.finished.check().warnings
    assert sum(made.ops(0).values()) > 100
    assert "lossless" in scalatrace(any_mpi, "verify", made.trace, made.logs).check().stdout
