"""The compiled engine: its choice, its cache, its times, and errors of MPI in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scalatrace import cache
from scalatrace.trace.io.writer import save
from scalatrace.trace.values.histogram import Bin, Histogram
from support.builder import DOUBLE, Builder, Comm
from support.mpis import Mpi
from support.running import Finished, mpirun, record

PROGRAM = Path(__file__).with_name("chapters.py")
US = 1000
LONG = 60_000
"""Calls of a rank for which `auto` compiles."""
BINS = Bin(20, 10 * US, 20 * US, 15 * US), Bin(20, 50 * US, 90 * US, 65 * US)
FEW_US = Histogram(40, 10 * US, 90 * US, 40 * US, 0, BINS)


def barriers(path: Path, n: int, compute: Histogram | None = None) -> Path:
    b = Builder(2)
    save(b.of(b.loop(n, b.event("Barrier", comm=Comm(), compute=compute))), path)
    return path


def replayed(mpi: Mpi, trace: Path, *options: str, **environment: str) -> Finished:
    command = [*mpi.scalatrace(), "replay", trace, "--json", *options]
    return mpirun(mpi, 2, command, cwd=trace.parent, timeout=60, env=environment)


def facts(done: Finished) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(done.check().stdout)
    return result


def test_files_that_were_not_used_for_long_leave_the_cache(tmp_path: Path) -> None:
    for age, name in enumerate("dcba"):
        (tmp_path / f"replay-{name}.so").touch()
        os.utime(tmp_path / f"replay-{name}.so", (1000 - age, 1000 - age))
    (tmp_path / "other.so").touch()
    cache.keep_newest("replay-*.so", 2, tmp_path / "replay-a.so")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["other.so", "replay-a.so", "replay-d.so"]


@pytest.mark.mpi
def test_a_library_is_compiled_once(openmpi: Mpi, tmp_path: Path) -> None:
    trace, folder = barriers(tmp_path / "a.st", 10), tmp_path / "cache"
    for seed in ("1", "2"):
        done = replayed(openmpi, trace, "--engine", "compiled", "--seed", seed, SCALATRACE_CACHE=str(folder))
        assert facts(done)["engine"] == "compiled"
    (library,) = folder.glob("*.so")
    compiled = library.stat().st_ino
    replayed(openmpi, trace, "--engine", "compiled", SCALATRACE_CACHE=str(folder)).check()
    assert library.stat().st_ino == compiled


@pytest.mark.mpi
@pytest.mark.slow
def test_the_engine_follows_the_length_of_the_trace(openmpi: Mpi, tmp_path: Path) -> None:
    assert facts(replayed(openmpi, barriers(tmp_path / "a.st", 10)))["engine"] == "python"
    assert facts(replayed(openmpi, barriers(tmp_path / "b.st", LONG)))["engine"] == "compiled"


@pytest.mark.mpi
def test_without_a_compiler_python_replays(openmpi: Mpi, tmp_path: Path) -> None:
    broken = tmp_path / "mpicc"
    broken.write_text(
        f'#!/bin/sh\n[ "$1" = -show ] && exec {openmpi.mpicc} -show\necho no licence >&2; exit 1\n'
    )
    broken.chmod(0o755)
    forced = {"SCALATRACE_MPICC": str(broken), "SCALATRACE_CACHE": str(tmp_path / "cache")}
    done = replayed(openmpi, barriers(tmp_path / "a.st", LONG), **forced)
    assert facts(done)["engine"] == "python"
    assert done.stderr.count("replaying in Python") == 1
    done = replayed(openmpi, barriers(tmp_path / "b.st", 10), "--engine", "compiled", **forced)
    assert done.returncode == 1
    assert done.stderr.count("--engine compiled") == 1
    assert "no licence" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.mpi
@pytest.mark.slow
def test_both_engines_wait_as_long(openmpi: Mpi, tmp_path: Path) -> None:
    trace = tmp_path / "a.st"
    record(openmpi, 2, [str(openmpi.python), PROGRAM, "p2p"], trace).check()
    for options in ((), ("--compute-scale", "0.5"), ("--at", "Barrier", "compute=20"), ("--compute", "none")):
        python, compiled = (
            facts(replayed(openmpi, trace, *options, "--engine", engine)) for engine in ("python", "compiled")
        )
        assert compiled["calls"] == python["calls"]
        assert compiled["computed_s"] == pytest.approx(
            python["computed_s"], rel=0.1
        )  # both scale to a rank's load
        assert compiled["wall_s"] >= compiled["computed_s"]


@pytest.mark.slow
@pytest.mark.mpi
def test_drawn_times_follow_the_seed(openmpi: Mpi, tmp_path: Path) -> None:
    trace = barriers(tmp_path / "a.st", 300, FEW_US)
    drawn = ["--times", "drawn", "--engine", "compiled", "--seed"]
    times = [facts(replayed(openmpi, trace, *drawn, seed))["computed_s"] for seed in ("1", "1", "2")]
    assert times[0] == times[1] != times[2]
    assert times == pytest.approx([300 * 40e-6] * 3, rel=0.2)


@pytest.mark.mpi
@pytest.mark.parametrize("compute_ns", [3, 4000])
def test_computations_are_counted_whether_waited_for_or_not(
    openmpi: Mpi, compute_ns: int, tmp_path: Path
) -> None:
    """Those shorter than a reading of the clock are added to later ones."""
    steady = Histogram(1000, compute_ns, compute_ns, compute_ns, 0)
    trace = barriers(tmp_path / "a.st", 1000, steady)
    done = facts(replayed(openmpi, trace, "--engine", "compiled"))
    assert done["computed_s"] == pytest.approx(1000 * compute_ns * 1e-9, rel=0.01)
    assert done["late_s"] < 1e-5 or compute_ns == 4000
    assert done["wall_s"] > 0.99 * done["computed_s"]


@pytest.mark.mpi
def test_an_error_of_mpi_names_the_call_and_ends_all(mpi: Mpi, tmp_path: Path) -> None:
    """A message of ten elements for a receive of one."""
    b = Builder(2)
    trace = b.of(
        b.event("Isend", count=10, datatype=DOUBLE, dest=1, tag=1, comm=Comm()),
        b.event("Irecv", count=1, datatype=DOUBLE, source=0, tag=1, comm=Comm()),
        b.event("Waitall", requests=(1, 0)),
        b.event("Barrier", comm=Comm()),
    )
    save(trace, tmp_path / "a.st")
    done = replayed(mpi, tmp_path / "a.st", "--engine", "compiled")
    assert done.returncode != 0
    assert "scalatrace: rank 1, MPI_Waitall (event 2): " in done.stderr
