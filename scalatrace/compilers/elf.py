"""ELF programs: the MPI library they link to, and obstacles to preloading a library."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from scalatrace.compilers.libraries import is_mpi_library
from scalatrace.compilers.programs import run_tool

__all__ = ["is_elf", "linked_files", "linked_mpi", "loaded_mpi", "preload_obstacle"]

PT_INTERP = 3
"""Kind of a program header: the dynamic linker's path."""


def is_elf(path: str | Path) -> bool:
    """Whether the file is a native program or library."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def linked_mpi(path: str | Path) -> Path | None:
    """The libmpi that the dynamic linker would load for this file, directly or not; None: none."""
    return next((file for file in linked_files(path) if is_mpi_library(file.name)), None)


def linked_files(path: str | Path) -> list[Path]:
    """The libraries that the dynamic linker would load for this file, directly or not, in its order."""
    try:
        listing = run_tool(["ldd", str(path)]).stdout
    except OSError:
        return []
    links = (line.strip().partition(" => ") for line in listing.splitlines())
    return [Path(target.split(" (")[0]) for _, _, target in links if target.startswith("/")]


def loaded_mpi() -> Path | None:
    """Return the libmpi that this process has loaded; None when there is none, or more than one."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    paths = {Path(words[5]) for line in lines if len(words := line.split(maxsplit=5)) == 6}
    libraries = {path for path in paths if is_mpi_library(path.name)}
    return libraries.pop() if len(libraries) == 1 else None


def preload_obstacle(path: str | Path) -> str | None:
    """Return why the dynamic linker does not preload a library into a program; None when it does."""
    try:
        info = os.stat(path)
        if info.st_mode & stat.S_ISUID and info.st_uid != os.geteuid():
            return "runs as another user (setuid)"
        if info.st_mode & stat.S_ISGID and info.st_gid != os.getegid():
            return "runs as another group (setgid)"
        return "is statically linked" if is_elf(path) and not _has_interpreter(path) else None
    except (OSError, IndexError, struct.error):
        return None


def _has_interpreter(path: str | Path) -> bool:
    """Return whether a program names a dynamic linker. Raises OSError; struct.error for a damaged file."""
    with open(path, "rb") as file:
        head = file.read(64)
        wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
        (start,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
        size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
        file.seek(start)
        table = file.read(size * count)
    return any(struct.unpack_from(order + "I", table, size * i)[0] == PT_INTERP for i in range(count))
