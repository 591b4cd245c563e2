"""Libraries of C files that time MPI calls; each is compiled after `timed_calls.h`, which all share."""

from __future__ import annotations

import ctypes
from importlib import resources

from scalatrace.compilers.generated import GeneratedKind, load, shared_library
from scalatrace.errors import ScalatraceError

__all__ = ["TIMED_COLLECTIVES", "reserve_buffers", "timed_library"]

TIMED_COLLECTIVES = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "allgatherv", "alltoall",
    "alltoallv", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
)  # fmt: skip
"""Operations in the order of `call_collective` in timed_calls.h."""


def timed_library(kind: GeneratedKind, package: str, name: str, speaks: bool) -> ctypes.CDLL:
    """Return the library of a package's C file. Args and errors as `shared_library` and `load`."""
    files = (("scalatrace.compilers", "timed_calls.h"), (package, name))
    source = "".join(resources.files(package).joinpath(name).read_text("utf-8") for package, name in files)
    return load(kind, shared_library(kind, source, speaks))


def reserve_buffers(library: ctypes.CDLL, nbytes: int, nranks: int, advice: str = "") -> None:
    """Allocate the two buffers of a library, for collectives of some ranks. Raises ScalatraceError."""
    if library.st_reserve(ctypes.c_long(nbytes), nranks):
        raise ScalatraceError(f"no memory for two buffers of {nbytes:,} bytes{advice}")
