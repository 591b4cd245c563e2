"""The programs, their input, and which part of their output is a result rather than a time."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.running import run

HERE = Path(__file__).resolve().parent
NUMBER = re.compile(r"[-+]?\d+\.\d+(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """A program with its input.

    Attributes:
        program: what must be installed; `package` is Debian's name for it.
        nprocs: ranks to run on.
        arguments: of the program.
        prepare: puts the input into the folder where the program will run.
        results: the lines that must be equal with and without tracing, from standard output and that folder.
    """

    name: str
    package: str
    program: str
    nprocs: tuple[int, ...]
    arguments: tuple[str, ...]
    prepare: Callable[[Path], None]
    results: Callable[[str, Path], list[str]]


def _melt(folder: Path) -> None:
    shutil.copy(HERE / "melt.in", folder)


def _thermodynamics(output: str, _: Path) -> list[str]:
    """LAMMPS: atoms, the table of temperature, energies and pressure, the neighbour lists; no times."""
    wanted = re.compile(
        r"Created \d|^\s*Step |^\s+\d+(\s+\S+){5}\s*$|Total # of neighbors|Neighbor list builds"
    )
    return [line.strip() for line in output.splitlines() if wanted.search(line)]


def _hpcc_input(folder: Path) -> None:
    shutil.copy(HERE / "hpccinf.txt", folder)


def _hpcc_checks(_: str, folder: Path) -> list[str]:
    """HPCC: every verdict in its output file and the sizes in its summary; rates, times and dates are no results."""
    text = (folder / "hpccoutf.txt").read_text()
    verdicts = [
        line for line in text.splitlines() if re.search(r"PASSED|FAILED|Found|completed and passed", line)
    ]
    sizes = [
        line for line in text.splitlines() if re.match(r"(Success|.*_[nN]|.*_nb|.*procs|sizeof_\w+)=", line)
    ]
    return [NUMBER.sub("#", line) for line in verdicts] + sizes


def _silicon(folder: Path) -> None:
    """Silicon's pseudopotential is computed on the spot, by the package's own program for atoms."""
    shutil.copy(HERE / "si.scf.in", folder)
    shutil.copy(HERE / "si.ld1.in", folder)
    run(["ld1.x", "-in", "si.ld1.in"], cwd=folder).check()
    if not (folder / "Si.UPF").exists():
        raise OSError("ld1.x wrote no pseudopotential")


def _energies(output: str, _: Path) -> list[str]:
    """Quantum ESPRESSO: everything but times, dates and memory."""
    clock = re.compile(r"\bWALL\b|\bCPU\b|cpu time|starts on|RAM|This run was terminated on")
    return [line.rstrip() for line in output.splitlines() if not clock.search(line)]


CASES = (
    Case(
        "lammps, LJ melt", "lammps", "lmp", (4, 8), ("-in", "melt.in", "-log", "none"), _melt, _thermodynamics
    ),
    Case("hpcc", "hpcc", "hpcc", (4, 8), (), _hpcc_input, _hpcc_checks),
    Case("pw.x, silicon", "quantum-espresso", "pw.x", (4, 8), ("-in", "si.scf.in"), _silicon, _energies),
)
