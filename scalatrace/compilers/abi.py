"""Binary interfaces of MPI libraries: the files that have them, and MPI_COMM_WORLD as a program passes it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["STANDARD_ABI", "abi_of", "comm_world", "standard_abi_version"]

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
"""The last one serves MPICH and libraries that keep its interface, such as Intel MPI."""


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
