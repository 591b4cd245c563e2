"""Smaller forms of the MPI programs of the study `limits`: many handles at the same time, odd names."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.record.limits import LOSSLESS, with_mpi
from support.mpis import Mpi

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize(
    ("case", "n"),
    [("requests", 3_000), ("communicators", 300), ("datatypes", 300), ("nested", 300), ("names", 30)],
)
def test_program_is_recorded(openmpi: Mpi, tmp_path: Path, case: str, n: int) -> None:
    assert with_mpi(openmpi, case, n, tmp_path)[-1] == LOSSLESS
