"""Build the shim for an MPI once: `libscalatrace_mpi-<identity>-<key>.so` in the user's cache.

The identity is that of the MPI library, the key that of our sources and of the core, a copy of which lies
beside. So a shim serves every node that has the same library, and can be shipped beside the package.

`python -m scalatrace.record.shim LIBRARY` builds the shim for a program that needs it; the preloaded library
runs this and prints what it says (`scalatrace/front/shim.c`).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from functools import cache as once
from importlib.util import find_spec
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.build import built_once, compiler_output
from scalatrace.compilers.mpi import Mpi, identify, mpi_of
from scalatrace.errors import ScalatraceError
from scalatrace.files import replace_file
from scalatrace.launched import launched_rank

__all__ = [
    "INCLUDE",
    "copy_shim",
    "core_library",
    "find_shim",
    "front_environment",
    "front_library",
    "shim_for",
]

_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCES = _PACKAGE / "pmpi"
INCLUDE = _PACKAGE / "core" / "include"
"""Folder of st_core.h and st_plugin.h."""
_PURPOSE = "the tracer"
NO_PATH = " :"
"""Characters that a path in LD_PRELOAD cannot have."""
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
    return _native("core")


def _native(name: str) -> Path:
    """A library that is built when the package is installed, in an editable install perhaps elsewhere."""
    package = find_spec("scalatrace")
    folders = package.submodule_search_locations if package else None
    file = f"libscalatrace_{name}.so"
    paths = [Path(folder, name, file) for folder in (str(_PACKAGE), *(folders or ()))]
    for path in paths:
        if path.exists():
            return path
    raise ScalatraceError(f"{paths[0]} is missing: the native {name} is not built; reinstall scalatrace")


def front_library() -> Path:
    """The library to preload, copied to the cache: containers see the home folder, but not this package.

    LD_PRELOAD separates paths by spaces and colons. Raises ScalatraceError when it is not built.
    """
    data = _native("front").read_bytes()
    name = f"libscalatrace_front-{hashlib.sha256(data).hexdigest()[:16]}.so"
    try:
        return cache.find(name, NO_PATH) or cache.store(name, data, NO_PATH)
    except OSError as error:
        raise ScalatraceError(f"cannot write {name} to the cache: {error.strerror}") from None


def front_environment() -> dict[str, str]:
    """The variables by which the preloaded library finds shims, or lets one be built."""
    return {
        "SCALATRACE_FRONT": str(front_library()),
        "SCALATRACE_SOURCES": _key(),
        "SCALATRACE_SHIM_FOLDERS": "\x1f".join(
            [*map(str, _shared_folders()), *(f"!{folder}" for folder in cache.folders())]
        ),
        "SCALATRACE_PYTHON": sys.executable,
    }


def _shared_folders() -> Iterator[Path]:
    """Where shims are that `doctor --build --into` made: $SCALATRACE_SHIMS, and the package's own folder."""
    yield from (Path(p).absolute() for p in os.environ.get("SCALATRACE_SHIMS", "").split(os.pathsep) if p)
    yield _PACKAGE / "shims"


def find_shim(library: Path) -> Path | None:
    """The shim for an MPI library, if there is one."""
    name = _shim_name(library)
    return next((p for f in _shared_folders() if (p := f / name).exists()), None) or cache.find(name)


def _shim_name(library: Path) -> str:
    return f"libscalatrace_mpi-{identify(library)}-{_key()}.so"


def copy_shim(shim: Path, folder: Path) -> Path:
    """Copy a shim and its core to a folder that other users, or other nodes, read. Raises ScalatraceError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in (shim.with_name(_core_name()), shim):
            if path.parent.resolve() != folder.resolve():
                shutil.copy(path, folder)
                (folder / path.name).chmod(0o644)
    except OSError as error:
        raise ScalatraceError(
            f"cannot copy the tracer to {folder}: {error.strerror}; give another folder"
        ) from None
    return folder / shim.name


def shim_for(mpi: Mpi) -> Path:
    """Return the shim for this MPI, built if need be; rank 0 says so if it takes long.

    Raises ScalatraceError with the compiler's words.
    """
    if path := find_shim(mpi.library):
        return path
    notice = f"compiling the tracer for {mpi.library}, once for this MPI; this takes 20 to 100 s"
    shown = "" if launched_rank() else notice  # under mpiexec, standard error is a pipe of the launcher
    return built_once(_shim_name(mpi.library), _PURPOSE, lambda folder: _build(mpi, folder), shown)


def _extra_flags() -> list[str]:
    """Further flags for compiler and linker, such as -fsanitize=address."""
    return shlex.split(os.environ.get("SCALATRACE_SHIM_FLAGS", ""))


@once
def _key() -> str:
    digest = hashlib.sha256(_core_name().encode())
    digest.update(" ".join(_extra_flags()).encode())
    for source in _source_files():
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@once
def _core_name() -> str:
    return f"libscalatrace_core-{hashlib.sha256(core_library().read_bytes()).hexdigest()[:16]}.so"


def _source_files() -> list[Path]:
    sources = [p for p in _SOURCES.rglob("*") if p.suffix in (".c", ".h", ".py")]
    shared = [_PACKAGE / "operations.py", _PACKAGE / "launchers.def"]
    return [*sorted(sources), *shared, *sorted(INCLUDE.glob("*.h"))]


def _build(mpi: Mpi, folder: Path) -> bytes:
    """Build the shim in a new folder inside the cache, and put the core beside that."""
    from scalatrace.pmpi.generate import generate
    from scalatrace.pmpi.standard import declarations

    header = folder / "probe.c"
    header.write_text("#include <mpi.h>\n")
    preprocessed = compiler_output([str(mpi.compiler), "-E", str(header)], _PURPOSE)
    header.unlink()
    for source, text in generate(declarations(preprocessed)).items():
        (folder / source).write_text(text)
    core, built = folder.parent / _core_name(), folder / "shim.so"
    if not core.exists():
        replace_file(str(core), core_library().read_bytes(), 0o644)
    _compile(mpi, folder, core, built)
    return built.read_bytes()


def _compile(mpi: Mpi, folder: Path, core: Path, built: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    flags = [*_FLAGS, *_extra_flags()]
    includes = [f"-I{folder}", f"-I{_SOURCES}", f"-I{_PACKAGE}", f"-I{INCLUDE}"]
    sources = [*sorted(_SOURCES.rglob("*.c")), *sorted(folder.glob("*.c"))]
    objects = [str(folder / f"{source.stem}.o") for source in sources]  # no two have the same stem

    def compile_one(pair: tuple[Path, str]) -> None:
        command = [str(mpi.compiler), *flags, *includes, "-c", str(pair[0]), "-o", pair[1]]
        compiler_output(command, _PURPOSE)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(compile_one, sorted(zip(sources, objects, strict=True), key=_largest_first)))
    libraries = [f"-L{core.parent}", f"-l:{core.name}", "-Wl,-rpath,$ORIGIN", "-ldl", "-lpthread"]
    link = [*flags, *objects, "-o", str(built), *libraries]
    compiler_output([str(mpi.compiler), *link], _PURPOSE)


def _largest_first(pair: tuple[Path, str]) -> int:
    return -pair[0].stat().st_size


def main() -> int:
    library = Path(sys.argv[1])
    try:
        shim_for(mpi_of(library, "this program"))
    except ScalatraceError as error:
        print(error)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
