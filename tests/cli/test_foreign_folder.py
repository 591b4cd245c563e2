"""Every command in a folder of somebody else: neither its modules nor its programs run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_lines import LINES, prepare
from support.mpis import Mpi

MODULES = ("ctypes", "json", "msgpack", "mpi4py", "numpy", "random", "scalatrace", "scipy", "subprocess")
MODULES += ("sitecustomize", "usercustomize", "conftest", "rich", "sympy", "z3", "lark", "jinja2")
MODULES += ("matplotlib", "pandas", "tomlkit")
PROGRAMS = ("cc", "gcc", "g++", "ld", "ldconfig", "ldd", "mpicc", "mpiexec", "mpirun", "python", "python3")
PROGRAMS += ("smpirun", "true", "addr2line", "objdump", "env", "sh", "orted", "prte", "prted")
LIBRARIES = ("libmpi.so", "libmpi.so.40", "libscalatrace_core.so", "libscalatrace_simulator.so")

UNDER_MPI = {
    "record": "record -o out.st -- PYTHON -c pass",
    "replay": "replay a.st --record again.st",
    "fixpoint": "fixpoint barrier.st",
    "sweep": "sweep barrier.st",
    "calibrate": "calibrate --help",
    "tune": "tune --help",
    "version": "--version",
}
"""Commands that start ranks or programs; what they answer does not matter here."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs of all commands and with traps, which leave a file `ran-NAME` when they run."""
    result = tmp_path_factory.mktemp("foreign")
    prepare(result)
    statement = f"import os; open(os.path.join({str(result)!r}, 'ran-' + __name__), 'w').close()\n"
    for name in MODULES:
        package = result / name
        package.mkdir()
        (package / "__init__.py").write_text(statement)
        (package / "__main__.py").write_text(statement)
    (result / "trap.pth").write_text(statement)
    for name in PROGRAMS:
        (result / name).write_text(f"#!/bin/sh\n: > {result}/ran-{name}\nexit 1\n")
        (result / name).chmod(0o755)
    for name in LIBRARIES:  # loading it fails, and the command with it
        (result / name).write_text("no library")
    return result


def traps_after(folder: Path, words: list[str], environment: dict[str, str]) -> list[str]:
    """Run a command in the folder; return the names of the traps that ran."""
    script = str(Path(sys.executable).with_name("scalatrace"))
    words = [script, *(sys.executable if word == "PYTHON" else word for word in words)]
    path = os.pathsep.join([".", "", environment.get("PATH", os.defpath)])
    subprocess.run(
        words, cwd=folder, env={**environment, "PATH": path}, stdin=subprocess.DEVNULL, timeout=120,
        capture_output=True, check=False,
    )  # fmt: skip
    ran = sorted(folder.glob("ran-*"))
    for file in ran:
        file.unlink()
    return [file.name for file in ran]


@pytest.mark.parametrize("name", LINES)
def test_nothing_of_the_folder_runs(folder: Path, name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "SCALATRACE_CACHE": str(tmp_path)}  # what is cached is not made again
    assert traps_after(folder, LINES[name].split(), environment) == []


@pytest.mark.mpi
@pytest.mark.parametrize("name", UNDER_MPI)
def test_nothing_of_the_folder_runs_in_ranks(folder: Path, openmpi: Mpi, name: str) -> None:
    assert traps_after(folder, UNDER_MPI[name].split(), openmpi.environment()) == []


def test_traps_are_noticed(folder: Path) -> None:
    """The test can fail: a command that starts a program of the PATH, or Python without -P, runs traps."""
    path = os.pathsep.join([".", os.environ["PATH"]])
    subprocess.run(["ldd"], cwd=folder, env={**os.environ, "PATH": path}, check=False)
    subprocess.run([sys.executable, "-c", "import ctypes"], cwd=folder, check=False)
    ran = sorted(folder.glob("ran-*"))
    assert [file.name for file in ran] == ["ran-ctypes", "ran-ldd"]
    for file in ran:
        file.unlink()
