"""Names of MPI libraries: the native code takes the same files for MPI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scalatrace.compilers.libraries import (
    LIBRARY_FILES,
    abi_of,
    compiler_suffixes,
    is_launcher,
    is_library_of_mpi,
    is_mpi_library,
    standard_abi_version,
)
from support.mpis import ROOT


@pytest.mark.parametrize(
    ("name", "abi"),
    [
        ("libmpi.so.40.30.4", "openmpi"),
        ("libmpi.so.12", "mpich"),
        ("libmpich.so.12.2.0", "mpich"),
        ("libmpi_abi.so.1", "mpi_abi"),
        ("libmpi.so", "mpich"),
    ],
)
def test_libraries_with_the_functions_of_mpi(name: str, abi: str) -> None:
    assert is_mpi_library(name)
    assert is_library_of_mpi(name)
    assert abi_of(Path("/nowhere", name)) == abi
    assert standard_abi_version(Path("/nowhere", name)) == ("1" if abi == "mpi_abi" else None)


def test_other_libraries() -> None:
    names = ("libmpi_mpifh.so.40", "libmpifort.so.12", "libopen-pal.so.80", "libm.so.6", "libmpirun.so")
    assert not any(map(is_mpi_library, names))
    assert [is_library_of_mpi(name) for name in names] == [True, True, True, False, True]


def test_native_code_knows_all_libraries() -> None:
    source = (ROOT / "scalatrace/pmpi/stacks/stack_native.c").read_text()
    match = re.search(r'strncmp\(name, "(\w+)", (\d+)\)\) return MPI_LIBRARY', source)
    assert match
    assert len(match[1]) == int(match[2])
    assert all(name.startswith(match[1]) for name in LIBRARY_FILES)


def test_launchers() -> None:
    assert all(is_launcher(Path(name)) for name in ("mpiexec", "mpirun.openmpi", "mpiexec.hydra", "orterun"))
    assert not is_launcher(Path("srun"))
    assert compiler_suffixes(Path("mpirun.openmpi")) == (".openmpi",)
    assert compiler_suffixes(Path("orterun")) == (".openmpi", "")
