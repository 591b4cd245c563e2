"""Build the shim for an MPI once: `libscalatrace_<mpi>.so` in the user's cache.

The MPI of each program is cached, too: every rank needs it, and finding it runs compilers.

The key of a shim is what it depends on: the MPI library, our sources, the core's place.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.build import built_once, compiler_output
from scalatrace.compilers.mpi import Mpi, find_mpi
from scalatrace.errors import ScalatraceError
from scalatrace.launched import launched_rank

__all__ = ["INCLUDE", "core_library", "shim_for", "shim_name", "shim_of"]

_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCES = _PACKAGE / "pmpi"
INCLUDE = _PACKAGE / "core" / "include"
"""Folder of st_core.h and st_plugin.h."""
_PURPOSE = "the tracer"
_FLAGS = [
    *("-shared", "-fPIC", "-O2", "-std=gnu11", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Wno-deprecated-declarations"),
]


def core_library() -> Path:
    """The compressor's library: $SCALATRACE_CORE, or the installed one.

    Raises ScalatraceError when it is not built.
    """
    if path := os.environ.get("SCALATRACE_CORE"):
        return Path(path).absolute()
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
    """The shim for this MPI, built if need be; rank 0 says so if it takes long.

    Raises ScalatraceError with the compiler's words.
    """
    notice = f"compiling the tracer for {mpi.library}, once for this MPI; this takes 20 to 100 s"
    shown = "" if launched_rank() else notice  # under mpiexec, standard error is a pipe of the launcher
    return built_once(shim_name(mpi), _PURPOSE, lambda folder: _build(mpi, folder), shown)


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
    sources = [p for p in _SOURCES.rglob("*") if p.suffix in (".c", ".h", ".py")]
    return [*sorted(sources), _PACKAGE / "operations.py", *sorted(INCLUDE.glob("*.h"))]


def _build(mpi: Mpi, cached: Path) -> bytes:
    from scalatrace.pmpi.generate import generate
    from scalatrace.pmpi.standard import declarations

    with tempfile.TemporaryDirectory(dir=cached) as folder:
        header = Path(folder, "probe.c")
        header.write_text("#include <mpi.h>\n")
        preprocessed = compiler_output([str(mpi.compiler), "-E", str(header)], _PURPOSE)
        header.unlink()
        for source, text in generate(declarations(preprocessed)).items():
            Path(folder, source).write_text(text)
        built = Path(folder, "shim.so")
        _compile(mpi, Path(folder), built)
        return built.read_bytes()


def _compile(mpi: Mpi, folder: Path, built: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    core = core_library()
    flags = [*_FLAGS, *_extra_flags()]
    includes = [f"-I{folder}", f"-I{_SOURCES}", f"-I{INCLUDE}"]
    sources = [*sorted(_SOURCES.rglob("*.c")), *sorted(folder.glob("*.c"))]
    objects = [str(folder / f"{source.stem}.o") for source in sources]  # no two have the same stem

    def compile_one(pair: tuple[Path, str]) -> None:
        command = [str(mpi.compiler), *flags, *includes, "-c", str(pair[0]), "-o", pair[1]]
        compiler_output(command, _PURPOSE)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(compile_one, sorted(zip(sources, objects, strict=True), key=_largest_first)))
    link = [*flags, *objects, "-o", str(built), str(core), f"-Wl,-rpath,{core.parent}", "-ldl", "-lpthread"]
    compiler_output([str(mpi.compiler), *link], _PURPOSE)


def _largest_first(pair: tuple[Path, str]) -> int:
    return -pair[0].stat().st_size


_ENVIRONMENT = ("PATH", "MPICC", "SCALATRACE_MPICC", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")


def shim_of(argv: Sequence[str]) -> Path:
    """Return the shim for the MPI that the program `argv` will use; see `find_mpi` and `shim_for`."""
    note = f"program-{_program_key(argv)}.json"
    if (mpi := _read_note(note)) and (path := cache.find(shim_name(mpi))):
        return path
    mpi = find_mpi(argv)
    path = shim_for(mpi)
    _write_note(note, mpi)
    return path


def _program_key(argv: Sequence[str]) -> str:
    program = shutil.which(argv[0]) or argv[0]
    facts = [os.path.abspath(program), sys.executable, *(os.environ.get(name, "") for name in _ENVIRONMENT)]
    with suppress(OSError):
        facts.append(str(os.stat(program).st_mtime_ns))
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


def _read_note(note: str) -> Mpi | None:
    try:
        facts = json.loads(cache.read(note) or b"")
        mpi = Mpi(Path(facts["library"]), Path(facts["compiler"]))
    except (ValueError, KeyError, TypeError):
        return None
    return mpi if mpi.library.exists() and mpi.compiler.exists() else None


def _write_note(note: str, mpi: Mpi) -> None:
    facts = {"library": str(mpi.library), "compiler": str(mpi.compiler)}
    with suppress(OSError, ScalatraceError):  # only speed is lost
        cache.store(note, json.dumps(facts).encode())
