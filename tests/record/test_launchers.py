"""Programs under the launcher of another MPI: one message."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scalatrace.compilers.launchers import foreign_launcher_in
from scalatrace.compilers.mpi import library_of
from support.mpis import Mpi
from support.running import run

pytestmark = pytest.mark.mpi

SOURCE = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); }\n"
WORDS = "start it with the mpiexec of its own MPI"


def compiled(mpi: Mpi, folder: Path) -> Path:
    source, program = folder / "app.c", folder / f"app-{mpi.name}"
    source.write_text(SOURCE)
    subprocess.run([mpi.mpicc, "-o", program, source], check=True)
    return program


def test_its_own_launcher(mpi: Mpi, tmp_path: Path) -> None:
    program = compiled(mpi, tmp_path)
    for words in ([program], [mpi.python, "app.py"]):
        assert foreign_launcher_in([str(mpi.mpiexec), "-n", "2", *map(str, words)]) == ""
    command = [mpi.mpiexec, "-n", "2", *mpi.recorder(), "-o", tmp_path / "a.st", "--", program]
    assert WORDS not in run(command, env=mpi.environment(), cwd=tmp_path).check().stderr


def test_the_launcher_of_another_kind(openmpi: Mpi, mpich: Mpi, tmp_path: Path) -> None:
    """The program is started all the same, and ends as without the tracer."""
    program = compiled(mpich, tmp_path)
    command = [openmpi.mpiexec, "-n", "2", program]
    found = foreign_launcher_in(list(map(str, command)))
    assert "(mpich), but" in found
    assert WORDS in found
    outside = [*openmpi.recorder(), "-o", tmp_path / "a.st", "--", *command]
    inside = [openmpi.mpiexec, "-n", "2", *openmpi.recorder(), "-o", tmp_path / "a.st", "--", program]
    plain = run(command, env=openmpi.environment(), cwd=tmp_path)
    for words, counts in ((outside, (1,)), (inside, (0, 1))):  # rank 1 may have failed, which ends rank 0
        done = run(words, env=openmpi.environment(), cwd=tmp_path)
        assert done.stderr.count(WORDS) in counts
        assert bool(done.returncode) == bool(plain.returncode)
    quiet = run([*openmpi.recorder(), "--quiet", "--", *command], env=openmpi.environment(), cwd=tmp_path)
    assert WORDS not in quiet.stderr


def test_interpreters_beside_each_other(openmpi: Mpi, mpich: Mpi) -> None:
    """One folder's name may begin with that of the other: each Python has its own mpi4py."""
    libraries = [library_of([str(mpi.python)]) for mpi in (openmpi, mpich)]
    assert None not in libraries
    assert libraries[0] != libraries[1]


def test_commands_without_a_launcher() -> None:
    assert foreign_launcher_in([]) == ""
    assert foreign_launcher_in(["/bin/true"]) == ""
    assert foreign_launcher_in(["no-such-program", "-n", "2"]) == ""
    assert foreign_launcher_in(["mpiexec", "-n", "2", "/bin/true"]) == ""
