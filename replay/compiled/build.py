"""Compile a generated C library for the MPI of this process."""

from __future__ import annotations

from pathlib import Path

from scalatrace.compilers.library import compiled_library

__all__ = ["library_of"]


def library_of(source: str, speaks: bool = False) -> Path:
    """Return the library of a text, compiled if need be. Ranks of a node wait for the one that compiles.

    Args:
        speaks: say so on standard error when compiling takes long.

    Raises:
        ScalatraceError: there is no compiler for the MPI of this process, or it complains.
    """
    notice = "compiling the replay (kept for the next one)" if speaks else ""
    return compiled_library(source, "replay", "the compiled replay", notice)
