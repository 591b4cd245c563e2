"""The benchmark of partitioned communication on two ranks, and the times that workloads write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scalatrace.predict.variability import read_times
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun

pytestmark = pytest.mark.mpi
TIMEOUT_S = 120


@pytest.mark.parametrize("words", [[], ["--single"]], ids=["partitioned", "single"])
def test_every_byte_arrives(openmpi: Mpi, words: list[str]) -> None:
    command = [openmpi.python, SAMPLES / "partitioned.py", "--steps", "3", "--warm-up", "1", "--threads", "3"]
    done = mpirun(openmpi, 2, [*command, "--bytes", "30000", *words], timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"slowest thread ([\d.]+) us, elapsed ([\d.]+) us, ([\d.]+) MB/s: correct", done.stdout)
    assert shown is not None, done.stdout
    slowest, elapsed, rate = map(float, shown.groups())
    assert slowest >= 1000  # threads sleep for about 2 ms
    assert rate == pytest.approx(30000 / elapsed, rel=0.02, abs=0.06)


def test_wrong_numbers_are_refused(openmpi: Mpi) -> None:
    done = mpirun(openmpi, 1, [openmpi.python, SAMPLES / "partitioned.py"], timeout=TIMEOUT_S)
    assert done.returncode != 0
    assert "run it with 2" in done.stderr


def test_times_of_a_workload(openmpi: Mpi, tmp_path: Path) -> None:
    path = tmp_path / "ftq.csv"
    words = ["ftq", "--sleep", "--steps", "6", "--mean-us", "3000", "--deviation", "0", "--times", path]
    done = mpirun(openmpi, 3, [openmpi.python, SAMPLES / "variability.py", *words], timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    times = read_times(path)
    assert times.shape == (6, 3)
    assert (times >= 0.003).all()
