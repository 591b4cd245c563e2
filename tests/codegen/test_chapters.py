"""Every chapter of the MPI standard in C and Python: recorded again, the events of the application."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.codegen.generate import GenerateOptions, generate
from support.generated import FLOW, compiled
from support.mpis import Mpi
from support.running import record, scalatrace

pytestmark = pytest.mark.mpi

PROGRAM = Path(__file__).parents[1] / "replay" / "chapters.py"
CHAPTERS = (
    "p2p", "completion", "persistent", "partitioned", "probe", "collectives", "vectors", "nonblocking",
    "persistent_collectives", "communicators", "topologies", "datatypes", "one_sided", "files",
    "file_transfers", "shared_pointers", "addresses", "no_process",
)  # fmt: skip
QUICK = ("partitioned", "one_sided", "files")


def chapters(*without: str) -> pytest.MarkDecorator:
    """All chapters; those that other tests hardly touch among the quick tests."""
    return pytest.mark.parametrize(
        "chapter",
        [
            pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
            for name in CHAPTERS
            if name not in without
        ],
    )


def traced(mpi: Mpi, chapter: str, folder: Path) -> Path:
    """The trace of a chapter on two ranks."""
    trace = folder / "a.st"
    record(mpi, 2, [str(mpi.python), PROGRAM, chapter], trace, timeout=60).check()
    return trace


def assert_same(mpi: Mpi, chapter: str, trace: Path, again: Path) -> None:
    """A benchmark keeps its hands off the application's files, so their names differ.

    With MPICH, mpi4py makes datatypes by large-count constructors, which a tracer cannot look into.
    """
    ignored = ["callsites", "times"]
    if chapter in ("files", "file_transfers", "shared_pointers"):
        ignored.append("filename")
    if chapter == "files" and mpi.family == "mpich":
        ignored.append("filetype")
    scalatrace(mpi, "diff", trace, again, "--ignore", ",".join(ignored)).check()


@chapters()
def test_c(openmpi_first: Mpi, chapter: str, tmp_path: Path) -> None:
    mpi, trace = openmpi_first, traced(openmpi_first, chapter, tmp_path)
    source, again = tmp_path / "bench.c", tmp_path / "again.st"
    source.write_text(generate(load(trace), "c", GenerateOptions(compute_scale=0.01)).text)
    record(mpi, 2, [compiled(mpi, source, flags=FLOW)], again, timeout=60).check()
    assert_same(mpi, chapter, trace, again)


@chapters("addresses")
def test_python(openmpi_first: Mpi, chapter: str, tmp_path: Path) -> None:
    mpi, trace = openmpi_first, traced(openmpi_first, chapter, tmp_path)
    source, again = tmp_path / "bench.py", tmp_path / "again.st"
    source.write_text(generate(load(trace), "python", GenerateOptions(compute_scale=0.01)).text)
    record(mpi, 2, [str(mpi.python), source], again, timeout=60).check()
    assert_same(mpi, chapter, trace, again)
