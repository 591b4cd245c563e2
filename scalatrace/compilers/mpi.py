"""Find MPI installations: the compiler wrapper of a library, those installed, the library of a program.

A wrapper belongs to a library if its own library has the same identity: wheels copy files in place of links.
The environment (SCALATRACE_MPICC, MPICC) names a wrapper that is tried first.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from scalatrace.compilers.elf import is_elf, linked_mpi
from scalatrace.compilers.libraries import (
    COMPILERS,
    LIBRARY_FILES,
    MPI4PY_FILES,
    abi_of,
    compiler_suffixes,
    is_launcher,
    standard_abi_version,
)
from scalatrace.compilers.programs import IMPORT_NOTHING_HERE, find_program, own_python, run_tool
from scalatrace.errors import ScalatraceError

__all__ = [
    "Mpi",
    "beside_launcher",
    "find_library",
    "identify",
    "installed",
    "is_same_library",
    "library_of",
    "mpi_of",
    "mpi_version",
]

MAX_READ = 256 * 1024
"""Bytes at the beginning of a library that its identity depends on: symbols, relocations, a build ID."""

MAX_PARENTS = 4
"""Folders above a library in which its wrapper is sought: lib/release/libmpi.so.12 belongs to bin/mpicc."""


@dataclass(frozen=True, slots=True)
class Mpi:
    """An MPI installation: its library and the compiler wrapper that builds for it."""

    library: Path
    compiler: Path

    @property
    def flavour(self) -> str:
        """The binary interface of the library (libraries.py)."""
        return abi_of(self.library)


def mpi_of(library: Path, user: str) -> Mpi:
    """Return the MPI of a library, with its compiler wrapper. Raises ScalatraceError when there is none.

    Args:
        user: what uses the library, for the message.
    """
    named = os.environ.get("SCALATRACE_MPICC") or os.environ.get("MPICC")
    for mpi in chain([_of_compiler(_on_path(named.split()[0]))] if named else [], installed(library)):
        if is_same_library(mpi.library, library):
            return Mpi(library, mpi.compiler)
    raise ScalatraceError(f"no mpicc belongs to {library}, which {user} uses; set MPICC to the one that does")


def identify(library: Path) -> str:
    """CRC of the beginning and size of the file, or `abi1`: libraries of the MPI-5 ABI are one to the tracer.

    The C part of the tracer has the same function (`scalatrace/front/shim.c`). Raises OSError.
    """
    library = library.resolve()
    if version := standard_abi_version(library):
        return f"abi{version}"
    with library.open("rb") as file:
        return f"{zlib.crc32(file.read(MAX_READ)):08x}-{library.stat().st_size:x}"


def is_same_library(a: Path, b: Path) -> bool:
    """Whether two files are one library to the tracer: also copies, as wheels have in place of links."""
    if a.resolve() == b.resolve():
        return True
    try:
        return identify(a) == identify(b)
    except OSError:
        return False


def installed(library: Path | None = None) -> Iterator[Mpi]:
    """Every MPI with a compiler wrapper: beside `library`, beside this interpreter, on the PATH."""
    folders = [folder / "bin" for folder in library.parents[1:MAX_PARENTS]] if library else []
    folders += [Path(sys.prefix, "bin"), *map(Path, os.environ.get("PATH", "").split(os.pathsep))]
    seen = set()
    for folder in folders:
        for name in COMPILERS:
            compiler = folder / name
            if compiler in seen or not os.access(compiler, os.X_OK):
                continue
            seen.add(compiler)
            try:
                yield _of_compiler(compiler)
            except ScalatraceError:
                continue


def _library_behind(path: Path) -> Path:
    """The file itself: wheels have no links, their libmpi.so is a linker script `INPUT(libmpi.so.40)`."""
    if is_elf(path):
        return path
    with suppress(OSError):
        if match := re.match(
            r"\s*(?:INPUT|GROUP)\s*\(\s*(\S+?)\s*\)", path.read_text(errors="replace")[:4096]
        ):
            return path.parent / match[1]
    return path


def _on_path(name: str) -> Path:
    result = find_program(name)
    if result is None:
        raise ScalatraceError(f"{name}: no such compiler")
    return Path(result)


def _of_compiler(compiler: Path) -> Mpi:
    """The MPI of a compiler wrapper: both kinds print their command with -show."""
    try:
        result = run_tool([compiler, "-show"])
        words = shlex.split(result.stdout)
    except (OSError, ValueError) as error:
        raise ScalatraceError(f"{compiler} -show fails: {error}; set MPICC to a compiler wrapper") from None
    folders = [Path(w[2:]) for w in words if w.startswith("-L")]
    folders += [Path(w.removeprefix("-Wl,")) for w in words if w.startswith("-Wl,/")]
    folders += [compiler.parent.parent / "lib", Path("/usr/lib")]
    for folder in folders:
        for name in LIBRARY_FILES:
            if f"-l{name[3:].split('.')[0]}" in words and (folder / name).exists():
                return Mpi(_library_behind(folder / name), compiler)
    raise ScalatraceError(
        f"{compiler} -show names no known MPI library; set MPICC to another compiler wrapper"
    )


def beside_launcher(program: str) -> Mpi | None:
    """The MPI of `mpiexec` or `mpirun.openmpi`: that of the compiler beside it; None if it is no launcher."""
    path = Path(shutil.which(program) or program)
    if not is_launcher(path):
        return None
    for compiler in (path.with_name(f"mpicc{suffix}") for suffix in compiler_suffixes(path)):
        with suppress(ScalatraceError):
            if os.access(compiler, os.X_OK):
                return _of_compiler(compiler)
    return None


def library_of(argv: Sequence[str]) -> Path | None:
    """The libmpi that a program is linked to, or that mpi4py loads in its interpreter; None: unknown."""
    program = shutil.which(argv[0]) if argv else None
    if program is None:
        return None
    if is_elf(program) and (library := linked_mpi(program)):
        return library
    interpreter = _interpreter(program)
    return _mpi4py_library(interpreter) if interpreter else None


def find_library(argv: Sequence[str]) -> Path | None:
    """Return as `library_of` the MPI library of a program; None where it is not known."""
    try:
        return library_of(argv)
    except (OSError, ScalatraceError):
        return None


def _interpreter(program: str) -> str | None:
    """The Python that runs the program, if one does: itself, or what its first line names."""
    if is_elf(program):
        return program if Path(program).name.startswith("python") else None
    with open(program, "rb") as file:
        line = file.readline(512)
    words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    if words and words[0].endswith("/env"):
        words = words[1:]
    return shutil.which(words[0]) if words and "python" in Path(words[0]).name else None


_ASK = (
    f"{IMPORT_NOTHING_HERE}import importlib.util as u; s = u.find_spec('mpi4py');"
    "print(sys.prefix); print(s.origin if s else '')"
)


def _mpi4py_library(interpreter: str) -> Path | None:
    prefix, origin = _prefix_and_mpi4py(interpreter)
    if not origin:
        return None
    if chosen := os.environ.get("MPI4PY_LIBMPI"):
        return _library_behind(Path(chosen))
    modules = list(Path(origin).parent.glob("MPI*.so"))
    if len(modules) == 1 and (library := linked_mpi(modules[0])):
        return library  # built for one MPI
    # The wheel has one for each: takes what is beside the interpreter, then the linker's.
    for name in MPI4PY_FILES:
        if (Path(prefix, "lib", name)).exists():
            return _library_behind(Path(prefix, "lib", name))
    return _by_linker()


def _prefix_and_mpi4py(interpreter: str) -> tuple[str, str]:
    if os.path.samefile(interpreter, sys.executable) and Path(interpreter).is_relative_to(sys.prefix):
        spec = importlib.util.find_spec("mpi4py")
        return sys.prefix, (spec.origin or "") if spec else ""
    result = run_tool([interpreter, "-c", _ASK])
    lines = [*result.stdout.splitlines(), "", ""]
    return lines[0], lines[1]


def _by_linker() -> Path | None:
    """The first MPI library in the folders that the dynamic linker searches."""
    searched = filter(os.path.isabs, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    for folder in (*searched, "/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib64", "/usr/local/lib"):
        for name in LIBRARY_FILES:
            if (path := Path(folder, name)).exists():
                return _library_behind(path)
    return None


VERSION_TIME_LIMIT_S = 10.0
"""Seconds in which a library has to report its version."""

_ASK_VERSION = """
import ctypes, sys
text, length = ctypes.create_string_buffer(1 << 16), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode(errors="replace"))
"""
"""MPI_Get_library_version may be called before MPI_Init. A process of its own can load any MPI."""


def mpi_version(library: Path) -> str | None:
    """Return such as "Open MPI v5.0.11" or "MPICH Version: 4.3.0"; None if the library does not report it."""
    try:
        done = run_tool(own_python("-c", _ASK_VERSION, library), timeout_s=VERSION_TIME_LIMIT_S)
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    lines = done.stdout.splitlines() or [""]
    return " ".join(lines[0].partition(",")[0].split()) or None
