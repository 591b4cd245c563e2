"""`check` of a program: its MPI, and which of its functions are recorded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.mpis import Mpi
from support.running import scalatrace

pytestmark = pytest.mark.mpi

SOURCE = """
#include <mpi.h>
__attribute__((weak)) int MPIX_Nobody_knows(void); /* of an MPI that is not this one */
int helper(void);
int mpi_helper_setup(void);
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 100) MPIX_Nobody_knows();
    mpi_helper_setup();
    MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
    if (MPI_Comm_f2c(world) != MPI_COMM_WORLD) return 1;
    helper();
    MPI_Finalize();
}
"""
HELPER = """
#include <mpi.h>
int helper(void) { return PMPI_Barrier(MPI_COMM_WORLD); }
int mpi_helper_setup(void) { return 0; }
"""


def compiled(mpi: Mpi, folder: Path, name: str, source: str, *options: str) -> Path:
    text, result = folder / f"{name}.c", folder / name
    text.write_text(source)
    subprocess.run([mpi.mpicc, "-o", result, text, *options], check=True, cwd=folder)
    return result


def test_what_is_not_recorded(any_mpi: Mpi, tmp_path: Path) -> None:
    """In the program itself, and in a library of it."""
    compiled(any_mpi, tmp_path, "libhelper.so", HELPER, "-shared", "-fPIC")
    program = compiled(any_mpi, tmp_path, "app", SOURCE, "-L.", "-lhelper", f"-Wl,-rpath,{tmp_path}")
    done = scalatrace(any_mpi, "check", program, "--json")
    assert done.returncode == 1
    facts = json.loads(done.stdout)
    assert facts["flavour"] == any_mpi.family
    assert (facts["recorded"], facts["obstacle"]) == (3, "")
    assert facts["local"] in (1, 3)  # conversions of handles are macros in MPICH
    problems = {row["name"]: (row["files"], row["reason"].split()[0]) for row in facts["problems"]}
    assert problems == {
        "MPIX_Nobody_knows": (["app"], "not"),
        "PMPI_Barrier": (["libhelper.so"], "called"),
    }
    assert "PMPI_Barrier" in scalatrace(any_mpi, "check", program).stdout


def test_programs_that_are_recorded(openmpi: Mpi, tmp_path: Path) -> None:
    program = compiled(openmpi, tmp_path, "app", SOURCE + HELPER)
    plain = SOURCE.replace("if (argc > 100) MPIX_Nobody_knows();", "").replace("helper();", "")
    plain = plain.replace("mpi_helper_setup();", "")
    done = scalatrace(openmpi, "check", compiled(openmpi, tmp_path, "plain", plain)).check()
    assert "0 not recorded" in done.stdout
    assert "PMPI_Barrier" in scalatrace(openmpi, "check", program).stdout


def test_programs_without_mpi(openmpi: Mpi, tmp_path: Path) -> None:
    assert "no MPI" in scalatrace(openmpi, "check", "/bin/true").check().stdout
    source, static = tmp_path / "static.c", tmp_path / "static"
    source.write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "-static", "-o", static, source], check=True)
    done = scalatrace(openmpi, "check", static)
    assert (done.returncode, "statically linked" in done.stdout) == (1, True)


def test_damaged_programs(openmpi: Mpi, tmp_path: Path) -> None:
    program = compiled(openmpi, tmp_path, "app", SOURCE + HELPER)
    half = tmp_path / "half"
    half.write_bytes(program.read_bytes()[:-1500])
    done = scalatrace(openmpi, "check", half)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "half" in done.stdout + done.stderr
