"""What a generated program does when something goes wrong on one of its ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import Trace
from scalatrace.codegen.generate import generate
from support.builder import Builder, Comm
from support.mpis import Mpi
from support.running import mpirun

pytestmark = pytest.mark.mpi


def meeting() -> Trace:
    """Two ranks meet."""
    b = Builder(2)
    return b.of(b.event("Barrier", comm=Comm()))


@pytest.mark.parametrize(
    ("error", "said", "traceback"),
    [("ValueError('lost')", "ValueError: lost", True), ("KeyboardInterrupt", "interrupted", False)],
)
def test_an_error_of_one_rank_of_a_python_program_ends_all(
    openmpi: Mpi, error: str, said: str, traceback: bool, tmp_path: Path
) -> None:
    text = generate(meeting(), "python").text
    start = "def benchmark():\n"
    assert start in text
    bench = tmp_path / "bench.py"
    bench.write_text(text.replace(start, f"{start}    if rank == 1:\n        raise {error}\n"))
    ran = mpirun(openmpi, 2, [openmpi.python, bench], timeout=60)
    assert ran.returncode
    assert said in ran.stderr
    assert ("Traceback" in ran.stderr) == traceback
