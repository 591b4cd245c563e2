"""Which MPI library a program or an extension module is linked to."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

__all__ = ["is_elf", "linked_mpi"]

_MPI = re.compile(r"lib(mpi|mpich)\.so[.\d]*")


def is_elf(path: str | Path) -> bool:
    """Whether the file is a native program or library."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def linked_mpi(path: str | Path) -> Path | None:
    """The libmpi that the dynamic linker would load for this file, directly or not; None: none."""
    try:
        listing = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    for line in listing.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if _MPI.fullmatch(name) and rest.startswith("/"):
            return Path(rest.split(" (")[0])
    return None
