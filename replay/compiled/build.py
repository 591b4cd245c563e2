"""Compile a generated C library for the MPI of this process, once per text and compiler."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.build import built_once, compiler_output
from scalatrace.compilers.elf import loaded_mpi
from scalatrace.compilers.mpi import Mpi, mpi_of
from scalatrace.errors import ScalatraceError

__all__ = ["library_of"]

FLAGS = ("-O2", "-std=c11", "-shared", "-fPIC", "-w")
MAX_KEPT = 64
"""Libraries that the cache keeps."""
_PURPOSE = "the compiled replay"


def library_of(source: str, speaks: bool = False) -> Path:
    """Return the library of a text, compiled if need be. Ranks of a node wait for the one that compiles.

    Args:
        speaks: say so on standard error when compiling takes long.

    Raises:
        ScalatraceError: there is no compiler for the MPI of this process, or it complains.
    """
    loaded = loaded_mpi()
    if loaded is None:
        raise ScalatraceError("the MPI library that this process has loaded is not known")
    mpi = mpi_of(loaded, "this replay")
    name = f"replay-{_key(source, mpi)}.so"
    notice = "compiling the replay (kept for the next one)" if speaks else ""
    path = built_once(name, _PURPOSE, lambda folder: _build(source, mpi, folder), notice)
    cache.keep_newest("replay-*.so", MAX_KEPT, path)
    return path


def _key(source: str, mpi: Mpi) -> str:
    facts = [str(mpi.compiler), " ".join(FLAGS)]
    for path in (mpi.library.resolve(), mpi.compiler.resolve()):
        info = path.stat()
        facts.append(f"{path} {info.st_size} {info.st_mtime_ns}")
    return hashlib.sha256("\0".join([*facts, source]).encode()).hexdigest()[:24]


def _build(source: str, mpi: Mpi, cached: Path) -> bytes:
    with tempfile.TemporaryDirectory(dir=cached) as folder:
        text, built = Path(folder, "replay.c"), Path(folder, "replay.so")
        text.write_text(source)
        compiler_output([str(mpi.compiler), *FLAGS, "-o", str(built), str(text)], _PURPOSE)
        return built.read_bytes()
