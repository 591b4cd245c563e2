"""Public programs with small inputs, most of Debian: how each is prepared, and what its results are.

`tests/applications` records, replays and generates APPLICATIONS. The study *debian* of the benchmarks
measures them and IRREGULAR.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from support.mpis import ROOT
from support.running import run

INPUTS = ROOT / "tests/applications/inputs"

MEASURED = re.compile(r"[-+]?\d+\.\d+(e[-+]?\d+)?|\d+(?= errors)", re.IGNORECASE)

MPICC = "mpicc.openmpi"
"""Compiler of drivers: the packages are those of Debian's Open MPI."""

XDLU = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdlu"
LU_INPUT = "/usr/share/scalapack/LU.dat"
ABYSS = "/usr/lib/abyss/ABYSS-P"


@dataclass(frozen=True)
class Application:
    """A program with its input.

    Attributes:
        package: Debian's names for it, or the address of its sources.
        needs: programs and files that must be there.
        command: of a run in the prepared folder, `@SIZE@` is the size.
        nprocs: ranks to run on.
        sizes: how long it runs, and `unit`, in what: time steps, or the order of a matrix.
        prepare: puts the input for one of the sizes into the folder where the program will run.
        results: the lines that must be equal with and without tracing, from standard output and that folder.
    """

    name: str
    package: str
    needs: tuple[str, ...]
    command: tuple[str, ...]
    nprocs: tuple[int, ...]
    sizes: tuple[int, ...]
    unit: str
    prepare: Callable[[Path, int], None]
    results: Callable[[str, Path], list[str]]

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.name} ({self.unit})"

    def argv(self, size: int) -> list[str]:
        """Return the command of a run of this size."""
        return [word.replace("@SIZE@", str(size)) for word in self.command]

    @property
    def hint(self) -> str:
        """How to install it."""
        return f"build {self.package}" if "://" in self.package else f"apt install {self.package}"

    @property
    def missing(self) -> list[str]:
        """What it needs and is not on this machine."""
        return [need for need in self.needs if not (shutil.which(need) or Path(need).exists())]


def _fill(name: str, folder: Path, **values: int) -> None:
    """Write an input file, with `@SIZE@` and the like replaced."""
    text = (INPUTS / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key.upper()}@", str(value))
    (folder / name).write_text(text)


def _fill_size(name: str, folder: Path, size: int) -> None:
    _fill(name, folder, size=size)


def hpcc_input(folder: Path, order: int, rows: int = 2, columns: int = 2, block: int = 16) -> None:
    """Write HPCC's input for a matrix of some order, in blocks of so many columns, on a grid of ranks."""
    _fill("hpccinf.txt", folder, size=order, rows=rows, columns=columns, block=block)


def _compile(name: str, flags: Sequence[str], folder: Path, _: int) -> None:
    """Compile a driver, which has its size as an argument."""
    program = folder / name.removesuffix(".c")
    run([MPICC, "-O2", INPUTS / name, "-o", program, *flags, "-lm"], timeout=300).check()


def _compile_slepc(folder: Path, size: int) -> None:
    shown = run(["pkg-config", "--cflags", "--libs", "slepc", "petsc"]).check().stdout
    _compile("slepc.c", shown.split(), folder, size)


def _silicon(folder: Path, steps: int) -> None:
    """Write the input; silicon's pseudopotential is computed by the package's own program for atoms."""
    _fill("si.md.in", folder, size=steps)
    shutil.copy(INPUTS / "si.ld1.in", folder)
    run(["ld1.x", "-in", "si.ld1.in"], cwd=folder).check()
    if not (folder / "Si.UPF").exists():
        raise OSError("ld1.x wrote no pseudopotential")


def _thermodynamics(output: str, _: Path) -> list[str]:
    """LAMMPS: atoms, the table of temperature, energies and pressure, the neighbour lists; no times."""
    wanted = r"Created \d|^\s*Step |^\s+\d+(\s+\S+){5}\s*$|Total # of neighbors|Neighbor list builds"
    return [line.strip() for line in output.splitlines() if re.search(wanted, line)]


def _hpcc_checks(_: str, folder: Path) -> list[str]:
    """HPCC: every verdict in its output file, and the sizes in its summary.

    No results are rates, times and dates, what comes from a seed by the clock (residuals, DGEMM_N), and
    how many updates RandomAccess lost to its races (it passes below 1 %).
    """
    lines = (folder / "hpccoutf.txt").read_text().splitlines()
    verdicts = [line for line in lines if re.search(r"PASSED|FAILED|Found|completed and passed", line)]
    sizes = [line for line in lines if re.match(r"(Success|(?!DGEMM).*_[nN]|.*_nb)=", line)]
    return [" ".join(MEASURED.sub("#", line).split()) for line in verdicts + sizes]


def _energies(output: str, _: Path) -> list[str]:
    """Quantum ESPRESSO: everything but times, dates and memory."""
    clock = re.compile(r"\bWALL\b|\bCPU\b|cpu time|starts on|RAM|This run was terminated on")
    return [line.rstrip() for line in output.splitlines() if not clock.search(line)]


def _result_lines(output: str, _: Path) -> list[str]:
    """Return the lines of results of drivers and scripts of `inputs`."""
    return [line for line in output.splitlines() if line.startswith("result ")]


def _verdicts(output: str, _: Path) -> list[str]:
    """ScaLAPACK's tests: sizes and verdict of each problem, without times."""
    return [
        f"{line.split()[1:7]} {verdict.group()}"
        for line in output.splitlines()
        if (verdict := re.search(r"PASSED|FAILED", line)) and line.startswith(("WALL", "CPU"))
    ]


def _copy_lu(folder: Path, _: int) -> None:
    shutil.copy(LU_INPUT, folder / "LU.dat")


def _reads(folder: Path, bases: int) -> None:
    """Write pairs of reads of 50 bases from a random genome, each base about 20 times."""
    draw = random.Random(1)
    genome = "".join(draw.choices("ACGT", k=bases))
    complements = str.maketrans("ACGT", "TGCA")
    with (folder / "forward.fa").open("w") as forward, (folder / "backward.fa").open("w") as backward:
        for i in range(bases // 5):
            start = draw.randrange(bases - 300)
            piece = genome[start : start + 300]
            forward.write(f">{i}/1\n{piece[:50]}\n")
            backward.write(f">{i}/2\n{piece[::-1].translate(complements)[:50]}\n")


def _contigs(path: str, _: str, folder: Path) -> list[str]:
    """Return the lengths of assembled pieces: their order and direction depend on the ranks' timing."""
    texts = (folder / path).read_text().split(">")[1:]
    return sorted(str(len("".join(text.splitlines()[1:]))) for text in texts)


def _searches(output: str, _: Path) -> list[str]:
    """Graph500: sizes, and the numbers of edges that the searches traversed; no times."""
    wanted = re.compile(r"^(SCALE|edgefactor|NBFS|num_mpi_processes|.*nedge):")
    return [line.strip() for line in output.splitlines() if wanted.search(line)]


RANKS = (4, 8, 16)
APPLICATIONS = (
    Application(
        "lammps, LJ melt", "lammps", ("lmp",), ("lmp", "-in", "melt.in", "-log", "none"),
        RANKS, (100, 1000, 5000), "steps", partial(_fill_size, "melt.in"), _thermodynamics,
    ),
    Application(
        "hpcc", "hpcc", ("hpcc",), ("hpcc",), RANKS, (192, 384, 768), "order", hpcc_input, _hpcc_checks,
    ),
    Application(
        "pw.x, silicon", "quantum-espresso", ("pw.x", "ld1.x"), ("pw.x", "-in", "si.md.in"),
        RANKS, (2, 6, 18), "MD steps", _silicon, _energies,
    ),
    Application(
        "meep, waveguide", "python3-meep-openmpi python3-matplotlib python3-scipy python3-mpi4py",
        ("/usr/lib/python3/dist-packages/meep/__init__.py", "/usr/lib/python3/dist-packages/mpi4py"),
        ("/usr/bin/python3", "waveguide.py", "@SIZE@"),
        RANKS, (20, 40, 80), "time units", partial(_fill_size, "waveguide.py"), _result_lines,
    ),
    Application(
        "neuron, ring", "python3-neuron", ("/usr/lib/python3/dist-packages/neuron",),
        ("/usr/bin/python3", "spike_ring.py", "@SIZE@"),
        RANKS, (200, 400, 800), "ms", partial(_fill_size, "spike_ring.py"), _result_lines,
    ),
    Application(
        "hypre, BoomerAMG", "libhypre-dev", (MPICC, "/usr/include/hypre"), ("./hypre", "@SIZE@"),
        RANKS, (32, 64, 128), "points of a side",
        partial(_compile, "hypre.c", ("-I/usr/include/hypre", "-lHYPRE")), _result_lines,
    ),
    Application(
        "sundials, CVODE", "libsundials-dev", (MPICC, "/usr/include/nvector/nvector_parallel.h"),
        ("./sundials", "@SIZE@"),
        RANKS, (10, 100, 1000), "output times",
        partial(
            _compile, "sundials.c",
            ("-lsundials_cvode", "-lsundials_nvecparallel", "-lsundials_sunlinsolspgmr"),
        ),
        _result_lines,
    ),
    Application(
        "slepc, springs", "slepc-dev", (MPICC, "pkg-config", "/usr/lib/x86_64-linux-gnu/pkgconfig/slepc.pc"),
        ("./slepc", "-n", "@SIZE@"),
        RANKS, (100, 200, 400), "points", _compile_slepc, _result_lines,
    ),
    Application(
        "scalapack, xdlu", "scalapack-mpi-test", (XDLU,), (XDLU,),
        (4,), (31, 101, 151), "order", partial(_fill_size, "LU.dat"), _verdicts,
    ),
    Application(
        "fftw, square", "libfftw3-mpi-dev", (MPICC, "/usr/include/fftw3-mpi.h"), ("./fftw", "@SIZE@"),
        RANKS, (32, 64, 128), "points of a side",
        partial(_compile, "fftw.c", ("-lfftw3_mpi", "-lfftw3")), _result_lines,
    ),
)  # fmt: skip

IRREGULAR = (
    Application(
        "scalapack, xdlu with all its problems", "scalapack-mpi-test", (XDLU, LU_INPUT), (XDLU,),
        (4,), (57,), "largest order", _copy_lu, _verdicts,
    ),
    Application(
        "graph500, breadth-first search", "https://github.com/graph500/graph500",
        ("graph500_reference_bfs",), ("graph500_reference_bfs", "@SIZE@"),
        (4,), (12,), "scale", lambda folder, size: None, _searches,
    ),
    Application(
        "lammps, Monte Carlo", "lammps", ("lmp",), ("lmp", "-in", "gcmc.in", "-log", "none"),
        (4,), (200,), "steps", partial(_fill_size, "gcmc.in"), _thermodynamics,
    ),
    Application(
        "abyss, assembly", "abyss", (ABYSS,),
        (ABYSS, "-k", "25", "-o", "contigs.fa", "forward.fa", "backward.fa"),
        (4,), (2000,), "bases", _reads, partial(_contigs, "contigs.fa"),
    ),
    Application(
        "ray, assembly", "ray", ("Ray",),
        ("Ray", "-k", "21", "-p", "forward.fa", "backward.fa", "-o", "assembled"),
        (4,), (500,), "bases", _reads, partial(_contigs, "assembled/Contigs.fasta"),
    ),
)  # fmt: skip
"""Programs whose calls follow data: a matrix with pivots, a graph, trials of particles, overlaps of reads."""
