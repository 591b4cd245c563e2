"""HPL recorded rank by rank without MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.predict.hpl_ranks import record_ranks
from scalatrace import load
from support.calls import walked
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import record

SIZES = ["--block", "4", "--size", "2", "--steps", "2"]


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        (2, 3, ""),
        (2, 3, "--bcast 2-ring --swap binary --depth 1"),
        (2, 3, "--bcast long-modified --swap long --pivots next --panels 7"),
        (1, 4, "--bcast ring-modified --swap mix --depth 1"),
        (5, 1, "--swap binary --depth 1 --panels 11"),
        (3, 2, "--bcast 2-ring-modified --swap mix --threshold 4 --depth 1 --pivots diagonal"),
    ],
)
def test_calls_are_those_of_a_recorded_run(
    openmpi: Mpi, tmp_path: Path, rows: int, columns: int, words: str
) -> None:
    trace = tmp_path / "hpl.st"
    options = [*SIZES, *words.split()]
    program = [openmpi.python, SAMPLES / "hpl.py", "--kernels", "--rows", rows, *options]
    record(openmpi, rows * columns, list(map(str, program)), trace).check()
    recorded, made = load(trace), record_ranks((rows, columns), options)
    assert made.nprocs == recorded.nprocs
    for rank in recorded.ranks:
        assert walked(made, rank, sites=False) == walked(recorded, rank, sites=False)
