"""Name and version of an MPI library, as it reports them itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scalatrace.compilers.programs import own_python, run_tool

__all__ = ["mpi_version"]

TIME_LIMIT_S = 10.0

_ASK = """
import ctypes, sys
text, length = ctypes.create_string_buffer(1 << 16), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode(errors="replace"))
"""
"""MPI_Get_library_version may be called before MPI_Init. A process of its own can load any MPI."""


def mpi_version(library: Path) -> str | None:
    """Return such as "Open MPI v5.0.11" or "MPICH Version: 4.3.0"; None if the library does not report it."""
    try:
        done = run_tool(own_python("-c", _ASK, library), timeout_s=TIME_LIMIT_S)
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    lines = done.stdout.splitlines() or [""]
    return " ".join(lines[0].partition(",")[0].split()) or None
