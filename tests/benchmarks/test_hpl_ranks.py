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

ROWS, COLUMNS = 2, 3
SIZES = ["--block", "4", "--size", "2", "--steps", "2"]


@pytest.mark.mpi
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--bcast", "2-ring", "--swap", "binary", "--depth", "1"],
        ["--bcast", "long-modified", "--swap", "long", "--pivots", "next", "--panels", "7"],
    ],
)
def test_calls_are_those_of_a_recorded_run(openmpi: Mpi, tmp_path: Path, words: list[str]) -> None:
    trace = tmp_path / "hpl.st"
    program = [str(openmpi.python), str(SAMPLES / "hpl.py"), "--kernels", "--rows", str(ROWS), *SIZES, *words]
    record(openmpi, ROWS * COLUMNS, program, trace).check()
    recorded, made = load(trace), record_ranks((ROWS, COLUMNS), [*SIZES, *words])
    for rank in recorded.ranks:
        assert walked(made, rank, sites=False) == walked(recorded, rank, sites=False)
