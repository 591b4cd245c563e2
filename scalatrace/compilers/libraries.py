"""MPI libraries: names of their files, compiler wrappers and launchers; their binary interfaces.

To support an MPI with other names, or with an interface of its own, change this module. In native code,
`pmpi/stacks/stack_native.c` takes all libraries `libmpi*` for MPI; `front/shim.c` knows the standard's ABI.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "COMPILERS", "LIBRARY_FILES", "MPI4PY_FILES", "STANDARD_ABI", "abi_of", "comm_world", "compiler_suffixes",
    "is_launcher", "is_library_of_mpi", "is_mpi_library", "standard_abi_version",
]  # fmt: skip

COMPILERS = ("mpicc", "mpicc.openmpi", "mpicc.mpich", "mpicc_abi")
"""Compiler wrappers, in the order in which a folder is searched."""

MPI4PY_FILES = ("libmpi.so", "libmpi.so.12", "libmpi.so.40")
"""Library files in the order in which mpi4py searches them: MPICH's interface has 12, Open MPI's has 40."""

LIBRARY_FILES = (*MPI4PY_FILES, "libmpich.so", "libmpi_abi.so")
"""Library files, in the order in which a folder is searched."""

_STEMS = "|".join(dict.fromkeys(name.partition(".")[0].removeprefix("lib") for name in LIBRARY_FILES))
_LIBRARY = re.compile(rf"lib({_STEMS})\.so[.\d]*")
_OF_MPI = re.compile(rf"lib({_STEMS}|mpifort|open-rte|open-pal|pmix|prrte|mca_)[\w-]*\.so.*")

_LAUNCHER = re.compile(r"(mpirun|mpiexec|orterun|prterun)(\.\w+)?")
_COMPILER_SUFFIXES = {"orterun": (".openmpi", ""), "mpiexec.hydra": (".mpich", "")}

STANDARD_ABI = "mpi_abi"
"""Name of the MPI-5 standard's interface, which libraries of any MPI may have."""


@dataclass(frozen=True, slots=True)
class _Abi:
    """A binary interface.

    Attributes:
        files: names of library files; links have to be resolved.
        world: MPI_COMM_WORLD, in a loaded library.
    """

    name: str
    files: re.Pattern[str]
    world: Callable[[ctypes.CDLL], object]


def _open_mpi_world(library: ctypes.CDLL) -> object:
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world")))


_ABIS = (
    _Abi(STANDARD_ABI, re.compile(r"libmpi_abi\.(?:so\.(\d+))?.*"), lambda _: ctypes.c_void_p(0x101)),
    _Abi("openmpi", re.compile(r"libmpi\.so\.40.*"), _open_mpi_world),
    _Abi("mpich", re.compile(r".*"), lambda _: 0x44000000),
)
"""The last one serves MPICH and libraries that keep its interface, such as Intel MPI: all other names."""


def is_mpi_library(name: str) -> bool:
    """Return whether a file, without its folder, is named as a library with the functions of MPI."""
    return _LIBRARY.fullmatch(name) is not None


def is_library_of_mpi(name: str) -> bool:
    """Return whether a file, without its folder, belongs to an MPI: also its parts and Fortran bindings."""
    return _OF_MPI.fullmatch(name) is not None


def is_launcher(path: Path) -> bool:
    """Return whether a program is called as those that start the ranks of an MPI."""
    return _LAUNCHER.fullmatch(path.name) is not None


def compiler_suffixes(launcher: Path) -> tuple[str, ...]:
    """Return the endings of `mpicc` that a compiler wrapper beside a launcher may have."""
    return _COMPILER_SUFFIXES.get(launcher.name, (launcher.suffix,))


def abi_of(library: Path) -> str:
    """Return the name of a library's interface: openmpi, mpich (others have it too), or mpi_abi."""
    return _of(library).name


def comm_world(path: Path, library: ctypes.CDLL) -> object:
    """Return MPI_COMM_WORLD as an argument for functions of a loaded library.

    Args:
        path: the library's file.
    """
    return _of(path).world(library)


def standard_abi_version(library: Path) -> str | None:
    """Return the version of the standard's interface that a library has; None: it has another interface."""
    abi = _of(library)
    match = abi.files.match(library.resolve().name)
    return match[1] if match and abi.name == STANDARD_ABI else None


def _of(library: Path) -> _Abi:
    name = library.resolve().name
    return next(abi for abi in _ABIS if abi.files.match(name))
