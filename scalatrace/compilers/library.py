"""Compile a C text into a shared library for the MPI of this process, once per text and compiler."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.build import built_once, compiler_output
from scalatrace.compilers.elf import loaded_mpi
from scalatrace.compilers.mpi import Mpi, mpi_of
from scalatrace.errors import ScalatraceError

__all__ = ["compiled_library"]

FLAGS = ("-O2", "-std=c11", "-shared", "-fPIC", "-w")
MAX_KEPT = 64
"""Libraries of one kind that the cache keeps."""


def compiled_library(source: str, kind: str, user: str, notice: str = "") -> Path:
    """Return the library of a text, compiled if need be. Ranks of a node wait for the one that compiles.

    Args:
        kind: start of the name in the cache: "replay".
        user: what needs it, for messages: "the compiled replay".
        notice: a line for standard error when compiling takes long; "": none.

    Raises:
        ScalatraceError: there is no compiler for the MPI of this process, or it complains.
    """
    loaded = loaded_mpi()
    if loaded is None:
        raise ScalatraceError("the MPI library that this process has loaded is not known")
    mpi = mpi_of(loaded, user)
    name = f"{kind}-{_key(source, mpi)}.so"
    path = built_once(name, user, lambda folder: _build(source, mpi, user, folder), notice)
    cache.keep_newest(f"{kind}-*.so", MAX_KEPT, path)
    return path


def _key(source: str, mpi: Mpi) -> str:
    facts = [str(mpi.compiler), " ".join(FLAGS)]
    for path in (mpi.library.resolve(), mpi.compiler.resolve()):
        info = path.stat()
        facts.append(f"{path} {info.st_size} {info.st_mtime_ns}")
    return hashlib.sha256("\0".join([*facts, source]).encode()).hexdigest()[:24]


def _build(source: str, mpi: Mpi, user: str, cached: Path) -> bytes:
    with tempfile.TemporaryDirectory(dir=cached) as folder:
        text, built = Path(folder, "library.c"), Path(folder, "library.so")
        text.write_text(source)
        compiler_output([str(mpi.compiler), *FLAGS, "-o", str(built), str(text)], user)
        return built.read_bytes()
