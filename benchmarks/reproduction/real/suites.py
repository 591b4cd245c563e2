"""Build programs from public sources that the user gives: NPB for MPI, and LULESH.

Sources are copied first: nothing is written into the given folders.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from scalatrace.errors import ScalatraceError, UsageError
from support.mpis import Mpi, installed
from support.running import run

FLAGS = ("-g", "-O2")
FORTRAN_FLAGS = (*FLAGS, "-std=legacy")
"""NPB passes scalars and arrays to the same procedure of MPI, which gfortran 10 and later refuse else."""

BUILD_LIMIT_S = 300
NO_SOURCES = (
    "real programs are not measured: give the sources of NPB 3.4 for MPI with --npb DIR "
    "(make bench-npb NPB=DIR), see benchmarks/README.md; the stand-ins of samples/ are"
)

_TRIAL = "program trial\nuse mpi\ninteger code\ncall mpi_init(code)\ncall mpi_finalize(code)\nend program\n"
_MAKE_DEF = """\
MPIFC = {fort}
FLINK = $(MPIFC)
FFLAGS = {fortran_flags}
FLINKFLAGS = $(FFLAGS)
MPICC = {cc}
CLINK = $(MPICC)
CFLAGS = {flags}
CLINKFLAGS = $(CFLAGS)
CC = {cc}
BINDIR = ../bin
CONVERTFLAG = -DFORTRAN_REC_SIZE=0
RAND = randi8
"""


class BuildError(ScalatraceError):
    """A program cannot be built: the compiler's first error."""


class Suite:
    """Sources of programs, copied from a folder of the user.

    Attributes:
        name: as the page calls it.
    """

    name: str
    _marks: Sequence[str]
    """Files and folders that the sources have."""

    _below: str
    """Pattern of a folder that may hold them in the given one."""

    def __init__(self, given: Path) -> None:
        """Find the sources in a folder. Raises UsageError."""
        folders = [given, *sorted(given.glob(self._below), reverse=True)] if given.is_dir() else []
        for folder in folders:
            if all((folder / mark).exists() for mark in self._marks):
                self.sources = folder
                return
        raise UsageError(
            f"{given}: no sources of {self.name}: expected {', '.join(self._marks)} there or in "
            f"{self._below}; see benchmarks/README.md"
        )

    def build(self, mpi: Mpi, title: str, size_class: str, folder: Path) -> Path:
        """Build a program in a copy below `folder`; return its path. Raises BuildError."""
        copy = folder / self.name
        if not copy.exists():
            shutil.copytree(self.sources, copy, symlinks=True)
        return self._make(mpi, title, size_class, copy)

    def count_lines(self, title: str) -> int:
        """Return the number of lines of a program's own sources."""
        raise NotImplementedError

    def _make(self, mpi: Mpi, title: str, size_class: str, copy: Path) -> Path:
        raise NotImplementedError


class Npb(Suite):
    """NPB 3.4 for MPI: `make bt CLASS=W` writes bin/bt.W.x."""

    name = "NPB"
    _marks = ("BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP", "config", "sys")
    _below = "NPB3.*-MPI"

    def count_lines(self, title: str) -> int:
        """Return the number of lines of the program's Fortran or C files."""
        files = [path for path in (self.sources / title.upper()).iterdir() if path.suffix in (".f90", ".c")]
        return sum(len(path.read_text(errors="replace").splitlines()) for path in files)

    def _make(self, mpi: Mpi, title: str, size_class: str, copy: Path) -> Path:
        text = _MAKE_DEF.format(
            fort=find_compiler(mpi, "fort"),
            cc=find_compiler(mpi, "c"),
            fortran_flags=" ".join(FORTRAN_FLAGS),
            flags=" ".join(FLAGS),
        )
        (copy / "config" / "make.def").write_text(text)
        (copy / "bin").mkdir(exist_ok=True)
        binary = copy / "bin" / f"{title}.{size_class}.x"
        _run_make(mpi, f"{title}, class {size_class}", copy, [title, f"CLASS={size_class}"], binary)
        return binary


class Lulesh(Suite):
    """LULESH 2.0: `make` writes lulesh2.0."""

    name = "LULESH"
    _marks = ("lulesh.cc", "lulesh-comm.cc", "Makefile")
    _below = "LULESH*"

    def _make(self, mpi: Mpi, title: str, size_class: str, copy: Path) -> Path:
        binary = copy / "lulesh2.0"
        flags = " ".join(FLAGS)
        words = [
            f"CXX={find_compiler(mpi, 'cxx')} -DUSE_MPI=1", f"CXXFLAGS={flags} -I.", f"LDFLAGS={flags}"
        ]  # fmt: skip
        _run_make(mpi, "lulesh", copy, words, binary)
        return binary


def _run_make(mpi: Mpi, what: str, folder: Path, words: Sequence[str], binary: Path) -> None:
    """Run make without the variables of a make that started this process."""
    env = {
        name: value
        for name, value in mpi.environment().items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    try:
        done = run(["make", *words], env=env, cwd=folder, timeout=BUILD_LIMIT_S)
    except TimeoutError:
        raise BuildError(f"{what}: the build takes more than {BUILD_LIMIT_S} s") from None
    except FileNotFoundError:
        raise BuildError(f"{what}: no make; install it (apt install make)") from None
    if done.returncode or not binary.exists():
        raise BuildError(f"{what}: not built: {_first_error(done.stderr, done.stdout)}")


def _first_error(*texts: str) -> str:
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")


def find_compiler(mpi: Mpi, language: str) -> Path:
    """Return the compiler of an MPI for "c", "cxx" or "fort". Raises BuildError."""
    compiler = mpi.compiler(language)
    if compiler is None:
        raise BuildError(f"{mpi.name} has no compiler for {language} beside {mpi.mpicc}")
    return compiler


def find_fortran_mpi(folder: Path) -> Mpi:
    """Return the first MPI here whose Fortran compiler works. Raises UsageError with all reasons."""
    source, reasons = folder / "trial.f90", []
    source.write_text(_TRIAL)
    for mpi in installed().values():
        compiler = mpi.compiler("fort")
        if compiler is None:
            reasons.append(f"{mpi.name} has no mpifort")
            continue
        command = [str(compiler), *FORTRAN_FLAGS, "-o", str(folder / "trial"), str(source)]
        done = run(command, env=mpi.environment(), cwd=folder)
        if done.returncode == 0:
            return mpi
        reasons.append(f"{mpi.name}: {_first_error(done.stderr, done.stdout)}")
    raise UsageError(
        f"NPB needs a Fortran compiler for MPI ({'; '.join(reasons) or 'no MPI here'}): "
        "apt install gfortran openmpi-bin libopenmpi-dev"
    )
