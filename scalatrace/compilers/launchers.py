"""Whether a launcher (mpiexec) and the program that it starts belong to one MPI.

With another MPI's launcher, each rank may be a program of one rank, MPI_Init may fail, or all is slow.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scalatrace.compilers.elf import linked_mpi
from scalatrace.compilers.libraries import STANDARD_ABI, is_launcher
from scalatrace.compilers.mpi import Mpi, beside_launcher, find_library, is_same_library

__all__ = ["foreign_launcher", "foreign_launcher_in"]

MAX_ANCESTORS = 5
"""Processes between a rank and its launcher that are looked at."""


def foreign_launcher_in(argv: Sequence[str]) -> str:
    """What is wrong with a command that begins with a launcher; "" if nothing is known to be.

    Launchers may set where libraries are searched. So of programs that are linked to an MPI of the launcher's
    kind, it is not known which they will get.
    """
    launcher = shutil.which(argv[0]) if argv else None
    if launcher is None or not is_launcher(Path(launcher)):
        return ""
    for at, word in enumerate(argv[1:], 1):
        program = shutil.which(word)
        if program and (library := find_library(argv[at:])):
            return _mismatch(Path(launcher), word, library, may_change=program)
    return ""


def foreign_launcher(argv: Sequence[str]) -> str:
    """What is wrong with the launcher of this process for a program; "" if nothing is known to be."""
    launcher = next(filter(is_launcher, _ancestors()), None)
    library = find_library(argv) if launcher else None
    return _mismatch(launcher, argv[0], library) if launcher and library else ""


def _ancestors() -> Iterator[Path]:
    """The programs of the processes that this one descends from, the nearest first."""
    pid = os.getppid()
    for _ in range(MAX_ANCESTORS):
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            yield Path(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            return
        pid = int(status.rpartition(")")[2].split()[1])
        if pid <= 1:
            return


def _mismatch(launcher: Path, program: str, library: Path, may_change: str = "") -> str:
    """What to print if a launcher is not that of a library.

    Args:
        may_change: the program's file if the launcher may still change which library it is linked to.
    """
    theirs = beside_launcher(str(launcher))
    if theirs is None or is_same_library(theirs.library, library):
        return ""
    flavour = Mpi(library, theirs.compiler).flavour
    if flavour == STANDARD_ABI:
        return ""  # that of any MPI
    if may_change and flavour == theirs.flavour and linked_mpi(may_change):
        return ""
    consequence = (
        "its ranks may not find each other" if flavour != theirs.flavour else "it may be slow or fail"
    )
    name = Path(program).name if program == sys.executable else program
    return (
        f"{name} uses {library} ({flavour}), but {launcher} belongs to {theirs.library} ({theirs.flavour}): "
        f"{consequence}; start it with the mpiexec of its own MPI"
    )
