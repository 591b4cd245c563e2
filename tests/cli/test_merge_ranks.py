"""`mpiexec -n P scalatrace merge`: the same trace as the serial merge, errors once."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalatrace
from cli.test_merge import write_part
from scalatrace.cli import main
from support.mpis import Mpi
from support.running import mpirun

pytestmark = pytest.mark.mpi


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run.st.parts"
    folder.mkdir()
    for rank in (0, 1, 3, 4, 5, 7):
        write_part(folder, rank, 8, rounds=5)
    return folder


@pytest.mark.parametrize("nprocs", [1, 3, 4, 8])
def test_the_serial_trace(nprocs: int, folder: Path, tmp_path: Path, mpi: Mpi) -> None:
    assert main(["merge", str(folder), "-o", str(tmp_path / "serial.st")]) == 0
    command = [*mpi.scalatrace(), "merge", folder, "-o", tmp_path / "parallel.st"]
    finished = mpirun(mpi, nprocs, command, timeout=90).check()
    assert finished.stdout.count("6 of 8 ranks, 30 events") == 1
    assert finished.stderr.count("no part of rank 2, 6") == 1
    serial, parallel = scalatrace.load(tmp_path / "serial.st"), scalatrace.load(tmp_path / "parallel.st")
    assert list(serial.ranks) == list(parallel.ranks)
    for rank in serial.ranks:
        assert [(call.op, call.values) for call in serial.walk(rank)] == [
            (call.op, call.values) for call in parallel.walk(rank)
        ]


@pytest.mark.parametrize("rank", [0, 7])
def test_a_damaged_part_is_reported_once(rank: int, folder: Path, mpi: Mpi) -> None:
    part = folder / f"rank-{rank}.part"
    part.write_bytes(part.read_bytes()[:-1])
    finished = mpirun(mpi, 3, [*mpi.scalatrace(), "merge", folder], timeout=90)
    assert finished.returncode == 1
    assert finished.stderr.count(f"rank-{rank}.part") == 1
    assert not folder.with_suffix("").exists()


def test_a_missing_folder_is_reported_once(tmp_path: Path, mpi: Mpi) -> None:
    finished = mpirun(mpi, 3, [*mpi.scalatrace(), "merge", tmp_path / "x.parts"], timeout=90)
    assert finished.returncode in (1, 2)
    assert finished.stderr.count(f"scalatrace: {tmp_path / 'x.parts'}") == 1
