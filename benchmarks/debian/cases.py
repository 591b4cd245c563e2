"""The programs, their input, and the part of their output that holds results, not times."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.running import run

HERE = Path(__file__).resolve().parent
MEASURED = re.compile(r"[-+]?\d+\.\d+(e[-+]?\d+)?|\d+(?= errors)", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """A program with its input.

    Attributes:
        program: what must be installed; `package` is Debian's name for it.
        nprocs: ranks to run on.
        sizes: how long it runs, and `unit`, in what: time steps, or the order of HPL's matrix.
        arguments: of the program.
        prepare: puts the input for one of the sizes into the folder where the program will run.
        results: the lines that must be equal with and without tracing, from standard output and that folder.
    """

    name: str
    package: str
    program: str
    nprocs: tuple[int, ...]
    sizes: tuple[int, ...]
    unit: str
    arguments: tuple[str, ...]
    prepare: Callable[[Path, int], None]
    results: Callable[[str, Path], list[str]]

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.name} ({self.unit})"


def _filled(name: str, folder: Path, **values: int) -> None:
    """An input file of this folder, with `@SIZE@` and the like replaced."""
    text = (HERE / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key.upper()}@", str(value))
    (folder / name).write_text(text)


def _melt(folder: Path, steps: int) -> None:
    _filled("melt.in", folder, size=steps)


def _thermodynamics(output: str, _: Path) -> list[str]:
    """LAMMPS: atoms, the table of temperature, energies and pressure, the neighbour lists; no times."""
    wanted = r"Created \d|^\s*Step |^\s+\d+(\s+\S+){5}\s*$|Total # of neighbors|Neighbor list builds"
    return [line.strip() for line in output.splitlines() if re.search(wanted, line)]


def hpcc_input(folder: Path, order: int, rows: int = 2, columns: int = 2) -> None:
    """Write HPCC's input for a matrix of some order on a grid of ranks."""
    _filled("hpccinf.txt", folder, size=order, rows=rows, columns=columns)


def _hpcc_checks(_: str, folder: Path) -> list[str]:
    """HPCC: every verdict in its output file, and the sizes in its summary.

    No results are rates, times and dates, what comes from a seed by the clock (residuals, DGEMM_N), and
    how many updates RandomAccess lost to its races (it passes below 1 %).
    """
    lines = (folder / "hpccoutf.txt").read_text().splitlines()
    verdicts = [line for line in lines if re.search(r"PASSED|FAILED|Found|completed and passed", line)]
    sizes = [line for line in lines if re.match(r"(Success|(?!DGEMM).*_[nN]|.*_nb)=", line)]
    return [" ".join(MEASURED.sub("#", line).split()) for line in verdicts + sizes]


def _silicon(folder: Path, steps: int) -> None:
    """Silicon's pseudopotential is computed on the spot, by the package's own program for atoms."""
    _filled("si.md.in", folder, size=steps)
    shutil.copy(HERE / "si.ld1.in", folder)
    run(["ld1.x", "-in", "si.ld1.in"], cwd=folder).check()
    if not (folder / "Si.UPF").exists():
        raise OSError("ld1.x wrote no pseudopotential")


def _energies(output: str, _: Path) -> list[str]:
    """Quantum ESPRESSO: everything but times, dates and memory."""
    clock = re.compile(r"\bWALL\b|\bCPU\b|cpu time|starts on|RAM|This run was terminated on")
    return [line.rstrip() for line in output.splitlines() if not clock.search(line)]


_LAMMPS_ARGUMENTS = ("-in", "melt.in", "-log", "none")
_PW_ARGUMENTS = ("-in", "si.md.in")
RANKS = (4, 8, 16)
CASES = (
    Case(
        "lammps, LJ melt", "lammps", "lmp", RANKS, (100, 1000, 5000), "steps",
        _LAMMPS_ARGUMENTS, _melt, _thermodynamics,
    ),
    Case("hpcc", "hpcc", "hpcc", RANKS, (192, 384, 768), "order", (), hpcc_input, _hpcc_checks),
    Case(
        "pw.x, silicon", "quantum-espresso", "pw.x", RANKS, (2, 6, 18), "MD steps",
        _PW_ARGUMENTS, _silicon, _energies,
    ),
)  # fmt: skip
