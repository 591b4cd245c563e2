"""Build the shim for an MPI once: `libscalatrace_<mpi>.so` in the user's cache.

The key of a shim is what it depends on: the MPI library, our sources, the core's place. Ranks that start at
the same moment wait for the one that builds; the file is written aside and renamed, so none sees half of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from scalatrace import cache
from scalatrace.errors import ScalatraceError
from scalatrace.record.mpi import Mpi

__all__ = ["INCLUDE", "core_library", "shim_for", "shim_name"]

_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCES = _PACKAGE / "pmpi"
INCLUDE = _PACKAGE / "core" / "include"
"""Folder of st_core.h and st_plugin.h."""
_FLAGS = [
    *("-shared", "-fPIC", "-O2", "-std=gnu11", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Wno-deprecated-declarations"),
]


def core_library() -> Path:
    """The compressor's library: $SCALATRACE_CORE, or the installed one.

    Raises ScalatraceError when it is not built.
    """
    if given := os.environ.get("SCALATRACE_CORE"):
        return Path(given).absolute()
    result = _PACKAGE / "core" / "libscalatrace_core.so"
    if not result.exists():
        result = _installed_core() or result
    if not result.exists():
        raise ScalatraceError(f"{result} is missing: the native core is not built; reinstall scalatrace")
    return result


def _installed_core() -> Path | None:
    """An editable install may keep the library elsewhere in the package's search path."""
    import scalatrace.core

    folders = (Path(p) for p in scalatrace.core.__path__)
    return next((p for f in folders if (p := f / "libscalatrace_core.so").exists()), None)


def shim_name(mpi: Mpi) -> str:
    """Return the file name of the shim for this MPI in the cache."""
    return f"libscalatrace_{mpi.flavour}-{_key(mpi)}.so"


def shim_for(mpi: Mpi) -> Path:
    """The shim for this MPI, built if need be. Raises ScalatraceError with the compiler's words."""
    name = shim_name(mpi)
    if path := cache.find(name):
        return path
    folder = cache.writable_folder()
    try:
        with _locked(folder / f"{name}.lock"):
            return cache.find(name) or _build(mpi, folder, name)
    except OSError as error:
        raise ScalatraceError(f"cannot build the tracer in {folder}: {error.strerror}") from None


def _extra_flags() -> list[str]:
    """Further flags for compiler and linker, such as -fsanitize=address."""
    return shlex.split(os.environ.get("SCALATRACE_SHIM_FLAGS", ""))


def _key(mpi: Mpi) -> str:
    library = mpi.library.resolve()
    facts = library.stat()
    digest = hashlib.sha256(f"{library} {facts.st_size} {facts.st_mtime_ns} {core_library()}".encode())
    digest.update(" ".join(_extra_flags()).encode())
    for source in _source_files():
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _source_files() -> list[Path]:
    own = [p for p in _SOURCES.rglob("*") if p.suffix in (".c", ".h", ".py")]
    return [*sorted(own), _PACKAGE / "operations.py", *sorted(INCLUDE.glob("*.h"))]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _build(mpi: Mpi, cached: Path, name: str) -> Path:
    from scalatrace.pmpi.generate import generate
    from scalatrace.pmpi.standard import declarations

    with tempfile.TemporaryDirectory(dir=cached) as folder:
        header = Path(folder, "probe.c")
        header.write_text("#include <mpi.h>\n")
        preprocessed = _run([str(mpi.compiler), "-E", str(header)])
        header.unlink()
        for source, text in generate(declarations(preprocessed)).items():
            Path(folder, source).write_text(text)
        built = Path(folder, "shim.so")
        _compile(mpi, Path(folder), built)
        return cache.store(name, built.read_bytes())


def _compile(mpi: Mpi, folder: Path, built: Path) -> None:
    core = core_library()
    flags = [*_FLAGS, *_extra_flags()]
    includes = [f"-I{folder}", f"-I{_SOURCES}", f"-I{INCLUDE}"]
    sources = [*sorted(_SOURCES.rglob("*.c")), *sorted(folder.glob("*.c"))]
    objects = [str(folder / f"{source.stem}.o") for source in sources]  # no two have the same stem

    def compile_one(pair: tuple[Path, str]) -> None:
        _run([str(mpi.compiler), *flags, *includes, "-c", str(pair[0]), "-o", pair[1]])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(compile_one, sorted(zip(sources, objects, strict=True), key=_largest_first)))
    link = [*flags, *objects, "-o", str(built), str(core), f"-Wl,-rpath,{core.parent}", "-ldl", "-lpthread"]
    _run([str(mpi.compiler), *link])


def _largest_first(pair: tuple[Path, str]) -> int:
    return -pair[0].stat().st_size


def _run(command: list[str]) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ScalatraceError(f"{command[0]}: {error.strerror}") from None
    if result.returncode:
        words = "\n".join(result.stderr.strip().splitlines()[:5])
        raise ScalatraceError(f"the tracer could not be built with {command[0]}:\n{words}")
    return result.stdout
