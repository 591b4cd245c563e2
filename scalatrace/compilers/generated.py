"""Libraries of generated C for the MPI of this process: compile once per text and compiler, load, run."""

from __future__ import annotations

import ctypes
import hashlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.build import built_once, compiler_output
from scalatrace.compilers.elf import loaded_mpi
from scalatrace.compilers.mpi import Mpi, mpi_of
from scalatrace.errors import ScalatraceError

__all__ = ["GeneratedKind", "ended_by_interrupt", "load", "shared_library"]

FLAGS = ("-std=c11", "-shared", "-fPIC", "-w", "-Wl,-z,defs")
"""With undefined symbols, the link fails: not only the attempt to load the library."""
MAX_KEPT = 64
"""Libraries of a kind that the cache keeps."""


@dataclass(frozen=True, slots=True)
class GeneratedKind:
    """A kind of generated libraries.

    Attributes:
        stem: how their names in the cache begin.
        purpose: what is built, for messages: "the compiled replay".
        user: what uses the MPI, for messages: "this replay".
        notice: printed when compiling takes long.
        optimisation: the compiler's flag.
    """

    stem: str
    purpose: str
    user: str
    notice: str
    optimisation: str = "-O2"


def shared_library(kind: GeneratedKind, source: str, speaks: bool = False) -> Path:
    """Return the library of a text, compiled if need be. Ranks of a node wait for the one that compiles.

    Args:
        speaks: print the kind's notice on standard error when compiling takes long.

    Raises:
        ScalatraceError: there is no compiler for the MPI of this process, or it complains.
    """
    loaded = loaded_mpi()
    if loaded is None:
        raise ScalatraceError("the MPI library that this process has loaded is not known")
    mpi = mpi_of(loaded, kind.user)
    command = [str(mpi.compiler), kind.optimisation, *FLAGS]
    name = f"{kind.stem}-{_key(source, command, mpi)}.so"
    notice = kind.notice if speaks else ""
    path = built_once(name, kind.purpose, partial(_build, kind, source, command), notice)
    cache.keep_newest(f"{kind.stem}-*.so", MAX_KEPT, path)
    return path


def _key(source: str, command: list[str], mpi: Mpi) -> str:
    facts = [" ".join(command)]
    for path in (mpi.library.resolve(), mpi.compiler.resolve()):
        info = path.stat()
        facts.append(f"{path} {info.st_size} {info.st_mtime_ns}")
    return hashlib.sha256("\0".join([*facts, source]).encode()).hexdigest()[:24]


def _build(kind: GeneratedKind, source: str, command: list[str], folder: Path) -> bytes:
    text, built = folder / f"{kind.stem}.c", folder / f"{kind.stem}.so"
    text.write_text(source)
    compiler_output([*command, "-o", str(built), str(text), "-lm"], kind.purpose)
    return built.read_bytes()


def load(kind: GeneratedKind, path: Path) -> ctypes.CDLL:
    """Load a library. It is never unloaded: MPI may use its memory until it is finalised.

    Raises:
        ScalatraceError: it cannot be loaded, or belongs to another MPI.
    """
    before = loaded_mpi()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ScalatraceError(f"cannot load {kind.purpose}: {error}") from None
    if loaded_mpi() != before:
        raise ScalatraceError(f"{kind.purpose} {path} is linked to another MPI than {before}")
    return library


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end this process, and by that all ranks: Python sees signals only between calls of C."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
