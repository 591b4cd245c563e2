"""Cache of the MPI that a program uses, since every rank needs it and finding it runs compilers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.mpi import Mpi, find_mpi
from scalatrace.errors import ScalatraceError
from scalatrace.record.shim import shim_for, shim_name

__all__ = ["shim_of"]

_ENVIRONMENT = ("PATH", "MPICC", "SCALATRACE_MPICC", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")


def shim_of(argv: Sequence[str]) -> Path:
    """The shim for the MPI that the program `argv` will use; see `find_mpi` and `shim_for`."""
    note = f"program-{_key(argv)}.json"
    if (mpi := _remembered(note)) and (path := cache.find(shim_name(mpi))):
        return path
    mpi = find_mpi(argv)
    path = shim_for(mpi)
    _remember(note, mpi)
    return path


def _key(argv: Sequence[str]) -> str:
    program = shutil.which(argv[0]) or argv[0]
    facts = [os.path.abspath(program), sys.executable, *(os.environ.get(name, "") for name in _ENVIRONMENT)]
    with suppress(OSError):
        facts.append(str(os.stat(program).st_mtime_ns))
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


def _remembered(note: str) -> Mpi | None:
    try:
        facts = json.loads(cache.read(note) or b"")
        mpi = Mpi(Path(facts["library"]), Path(facts["compiler"]))
    except (ValueError, KeyError, TypeError):
        return None
    return mpi if mpi.library.exists() and mpi.compiler.exists() else None


def _remember(note: str, mpi: Mpi) -> None:
    facts = {"library": str(mpi.library), "compiler": str(mpi.compiler)}
    with suppress(OSError, ScalatraceError):  # only speed is lost
        cache.store(note, json.dumps(facts).encode())
