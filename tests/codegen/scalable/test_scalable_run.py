"""Scalable benchmarks of a recorded program, run and recorded at sizes that no trace had."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.generated import compiled
from support.mpis import Mpi
from support.running import mpirun, record, scalatrace

pytestmark = pytest.mark.mpi
SAMPLES = Path(__file__).parents[3] / "samples"


@pytest.fixture(scope="module")
def formulas(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The symbolic trace of a ring."""
    folder = tmp_path_factory.mktemp("ring")
    paths = [folder / f"{n}.st" for n in (3, 4, 5, 6)]
    for n, path in zip((3, 4, 5, 6), paths, strict=True):
        command = [str(openmpi.python), SAMPLES / "ring.py"]
        record(openmpi, n, command, path, timeout=60).check()
    made = folder / "ring.stx"
    scalatrace(openmpi, "extrapolate", *paths, "--symbolic", "-o", made).check()
    return made


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "python"])
def test_it_does_what_the_trace_of_that_size_says(
    openmpi: Mpi, formulas: Path, language: str, tmp_path: Path
) -> None:
    source = tmp_path / f"bench.{'c' if language == 'c' else 'py'}"
    generate = ("generate", formulas, "--to", language, "--compute-scale", "0", "-o", source)
    scalatrace(openmpi, *generate).check()
    command = [str(openmpi.python), source]
    if language == "c":
        command = [str(compiled(openmpi, source))]
    want, again = tmp_path / "want.st", tmp_path / "again.st"
    scalatrace(openmpi, "instantiate", formulas, "-P", "7", "-o", want).check()
    record(openmpi, 7, [*command, "--sleep"], again, timeout=60).check()
    scalatrace(openmpi, "diff", want, again, "--ignore", "callsites,times").check()
    refused = mpirun(openmpi, 3, [*command, "--x", "4"], timeout=60)
    assert refused.returncode == 2
    assert "X has to be the number of ranks" in refused.stderr
    unknown = mpirun(openmpi, 2, [*command, "--width", "4"], timeout=60)
    assert unknown.returncode == 2
    assert "no such option" in unknown.stderr


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "python"])
def test_sizes_that_no_trace_shows_are_refused(openmpi: Mpi, language: str, tmp_path: Path) -> None:
    """All traces divide 8 things evenly; on 3 ranks nobody knows who has how many."""

    program, made = tmp_path / "app.py", tmp_path / "app.stx"
    program.write_text("from mpi4py.MPI import COMM_WORLD as w\nw.Bcast(bytearray(8 // w.size))\n")
    paths = [tmp_path / f"{n}.st" for n in (2, 4, 8)]
    for n, path in zip((2, 4, 8), paths, strict=True):
        record(openmpi, n, [str(openmpi.python), program], path, options=["--param", "n=8"]).check()
    scalatrace(openmpi, "extrapolate", *paths, "--symbolic", "-o", made).check()
    source = tmp_path / f"bench.{'c' if language == 'c' else 'py'}"
    scalatrace(openmpi, "generate", made, "--to", language, "-o", source).check()
    command = [str(openmpi.python), source]
    if language == "c":
        command = [str(compiled(openmpi, source))]
    mpirun(openmpi, 2, command, timeout=60).check()
    refused = mpirun(openmpi, 3, command, timeout=60)
    assert refused.returncode == 2
    assert "n//X and " in refused.stderr
    assert "are equal in all traces, but not here" in refused.stderr
