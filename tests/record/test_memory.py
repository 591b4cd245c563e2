"""Where buffers lie: asked of a driver in place of libcuda, shown by `stats`, left out by benchmarks."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import PROGRAMS, Builder, Traced, plain, sorted_lines
from record.test_datatypes import replays_and_generates
from scalatrace import load
from support.mpis import Mpi
from support.running import mpirun, scalatrace

pytestmark = pytest.mark.mpi

GPUS = {"SCALATRACE_MEMORY": "1"}
"""As on a machine with a GPU."""


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, PROGRAMS / "fake_cuda.c"], check=True)
    return path


def memory(trace: Path, rank: int) -> list[str]:
    return [call["memory"] for call in load(trace).walk(rank) if "memory" in call]


def test_a_driver_that_is_loaded_later(
    mpi: Mpi, build: Builder, driver: Path, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """It is asked once about each allocation on a device, and about each buffer of the host."""
    run = traced(mpi, 2, [build(mpi, "buffers.c"), driver], env=GPUS)
    assert sorted_lines(run.finished.check()) == ["rank 0: 4 queries", "rank 1: 3 queries"]
    assert "lossless" in scalatrace(mpi, "verify", run.trace, run.logs).check().stdout
    both = ["host", *["device"] * 10, "device+host", "managed"]
    assert memory(run.trace, 0) == [*both, "managed+host", "host"]
    assert memory(run.trace, 1) == [*both, "managed", "host"]  # only the root of MPI_Gather receives
    rows = scalatrace(mpi, "stats", run.trace, "--by", "memory", "--csv").check().stdout.splitlines()
    assert {row.split(",")[0]: row.split(",")[1] for row in rows[1:]} == {
        "device": "20", "device+host": "2", "host": "4", "managed": "2", "managed / managed+host": "2",
        "(none or unknown)": "2",
    }  # fmt: skip
    replays_and_generates(mpi, 2, run.trace)
    replayed = mpirun(mpi, 2, [*mpi.scalatrace(), "replay", run.trace], cwd=tmp_path).check()
    assert replayed.stderr.count("this replay uses memory of the host") == 1
    scalatrace(mpi, "anonymize", run.trace, "-o", tmp_path / "b.st").check()
    assert memory(tmp_path / "b.st", 1) == memory(run.trace, 1)


def test_a_driver_that_is_preloaded(
    openmpi: Mpi, build: Builder, driver: Path, traced: Callable[..., Traced]
) -> None:
    run = traced(openmpi, 2, ["env", f"LD_LIBRARY_PATH={driver.parent}", build(openmpi, "buffers.c")], env={
        "LD_PRELOAD": str(driver)})  # fmt: skip
    assert memory(run.trace, 1) == ["host"] * 15


def test_without_gpus(mpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path) -> None:
    program = build(mpi, "buffers.c")
    expected = sorted_lines(plain(mpi, 2, [program], tmp_path).check())
    run = traced(mpi, 2, [program], env={"SCALATRACE_MEMORY": "0"})
    assert sorted_lines(run.finished.check()) == expected
    assert not memory(run.trace, 0)
