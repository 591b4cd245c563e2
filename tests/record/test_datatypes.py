"""Datatypes and graphs that few programs use: recorded as they are, replayed, generated in C and Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import Builder, Traced, plain, sorted_lines
from scalatrace import load
from scalatrace.trace.values.vec import UNDEFINED
from support.generated import compiled
from support.mpis import Mpi
from support.running import mpirun, scalatrace

pytestmark = pytest.mark.mpi

F90 = {"f90_real(15,307,8)", "f90_real(6,UNDEFINED,4)", "f90_complex(UNDEFINED,307,16)", "f90_integer(17,8)"}


def replays_and_generates(mpi: Mpi, nprocs: int, trace: Path) -> None:
    """Replay a trace by both engines, and run its programs in C and Python."""
    folder = trace.parent
    for engine in ("python", "compiled"):
        command = [*mpi.scalatrace(), "replay", trace, "--verify", "--engine", engine]
        mpirun(mpi, nprocs, command, cwd=folder).check()
    source, script = folder / "bench.c", folder / "bench.py"
    scalatrace(mpi, "generate", trace, "--to", "c", "-o", source).check()
    mpirun(mpi, nprocs, [compiled(mpi, source)], cwd=folder).check()
    scalatrace(mpi, "generate", trace, "--to", "python", "-o", script).check()
    mpirun(mpi, nprocs, [mpi.python, script], cwd=folder).check()


def test_datatypes(mpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path) -> None:
    program = build(mpi, "datatypes.c")
    expected = sorted_lines(plain(mpi, 2, [program], tmp_path).check())
    run = traced(mpi, 2, [program])
    assert sorted_lines(run.finished.check()) == expected
    assert "lossless" in scalatrace(mpi, "verify", run.trace, run.logs).check().stdout
    types = {datatype.description for datatype in load(run.trace).types}
    assert types >= F90 | {"contiguous(2,f90_real(15,307,8))"}
    assert not any(description.startswith("opaque") for description in types)
    if mpi.family == "mpich":  # Open MPI 5 has no MPI_Type_contiguous_c
        assert "contiguous(4294967298,contiguous(0,MPI_INT))" in types
    replays_and_generates(mpi, 2, run.trace)
    text = scalatrace(mpi, "generate", run.trace, "--to", "conceptual").check().stdout
    assert "24 byte" in text.lower()


def test_graphs(mpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path) -> None:
    program = build(mpi, "graphs.c")
    expected = sorted_lines(plain(mpi, 4, [program], tmp_path).check())
    run = traced(mpi, 4, [program])
    assert sorted_lines(run.finished.check()) == expected
    assert "lossless" in scalatrace(mpi, "verify", run.trace, run.logs).check().stdout
    trace = load(run.trace)
    made = [[c for c in trace.walk(rank) if c.op.startswith("Dist_graph_create")] for rank in range(4)]
    none = (UNDEFINED,)
    assert [[(c["sourceweights"], c["destweights"]) for c in calls[:2]] for calls in made] == [
        [((), ()), (none, (3, 4))],
        [((), ()), ((3,), none)],
        [((), ()), ((3,), none)],
        [((), ()), (none, none)],
    ]
    assert [[c["weights"] for c in calls[2:]] for calls in made] == [[(), (3, 4)], *[[(), none]] * 3]
    replays_and_generates(mpi, 4, run.trace)
