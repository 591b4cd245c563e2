"""`record --report`: the page is made after the trace; a page that cannot be made harms nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.trace.io.reader import load
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import record


@pytest.mark.mpi
def test_page_after_the_run(openmpi: Mpi, tmp_path: Path) -> None:
    page = tmp_path / "ring.html"
    argv = [openmpi.python, SAMPLES / "ring.py"]
    done = record(openmpi, 2, argv, tmp_path / "a.st", options=["--report", page])
    assert done.returncode == 0, done
    assert "ring.py" in page.read_text()
    assert f"scalatrace: wrote {page}" in done.stderr


@pytest.mark.mpi
def test_a_page_that_cannot_be_written(openmpi: Mpi, tmp_path: Path) -> None:
    """The program makes a folder of that name."""
    page = tmp_path / "page.html"
    program = tmp_path / "app.py"
    program.write_text(f"from mpi4py import MPI\nimport os\nos.mkdir({str(page)!r})\nprint('done')\n")
    argv = [openmpi.python, program]
    done = record(openmpi, 1, argv, tmp_path / "a.st", options=["--report", page])
    assert done.returncode == 0, done
    assert "done" in done.stdout
    assert load(tmp_path / "a.st").nprocs == 1
    assert "the page is not written; run scalatrace report" in done.stderr
