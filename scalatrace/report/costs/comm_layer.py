"""Frames of the communication layer: wrappers of MPI through which an application makes its calls."""

from __future__ import annotations

import re
from functools import cache

from scalatrace.trace.model.callsite import Stack, split_frame

__all__ = ["callers", "is_wrapper"]

_FUNCTIONS = re.compile(
    r"P?MPI_\w+|p?mpi_\w+|ompi_\w+|MPI::.*|mpi::.*|boost::mpi::.*|"
    r"Foam::(U|I|O|UI|UO)?Pstream(Buffers)?::.*|Foam::UPstream.*"
)
"""Names of functions: bindings and the classes of libraries that only pass messages."""

_MODULES = re.compile(r"lib(p?mpi|boost_mpi|Pstream|mpicxx|mpifort)\b.*|MPI\.[\w.-]*so")
"""Names of libraries that only pass messages."""

_FOLDERS = ("/mpi4py/", "/boost/mpi/")


@cache
def is_wrapper(frame: str) -> bool:
    """Whether a frame lies in a wrapper of MPI."""
    parts = split_frame(frame)
    return (
        _FUNCTIONS.fullmatch(parts.name) is not None
        or _MODULES.fullmatch(parts.file.rpartition("/")[2]) is not None
        or any(folder in parts.file for folder in _FOLDERS)
    )


def callers(stack: Stack, count: int = 1) -> Stack:
    """The innermost frames outside the communication layer; of a stack of wrappers only, its outermost one.

    Args:
        count: so many frames at most.
    """
    first = next((i for i, frame in enumerate(stack) if not is_wrapper(frame)), len(stack) - 1)
    return stack[max(first, 0) :][:count]
