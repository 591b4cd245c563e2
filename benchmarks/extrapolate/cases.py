"""The programs, with the numbers of ranks of inputs and targets, and their recordings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scalatrace.trace.symbolic.grid import balanced
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import record

PLANES = (16, 20, 25, 30, 36)
CUBES = (27, 36, 48, 80)
SQUARES = (9, 16, 25, 36)


@dataclass(frozen=True)
class ExtrapolatedProgram:
    """One program.

    Attributes:
        title: as the table calls it.
        source, arguments: in samples/; `{n}` is the problem size.
        inputs: ranks of the input traces.
        target: ranks of the run that is predicted.
        n: problem size that is noted as a parameter; 0: there is none.
        weak: the problem size is multiplied by the side of the grid of ranks.
        plugin: in samples/.
        options: of `scalatrace record`.
    """

    title: str
    source: str
    arguments: tuple[str, ...]
    inputs: tuple[int, ...]
    target: int = 64
    n: int = 0
    weak: bool = False
    plugin: str = ""
    options: tuple[str, ...] = ()

    def size(self, nprocs: int) -> int:
        """The problem size on so many ranks."""
        return self.n * (balanced(nprocs, 2)[0] if self.weak else 1)

    def noted(self, nprocs: int) -> list[str]:
        """The option, of recorder and extrapolation, that tells the problem size."""
        return ["--param", f"n={self.size(nprocs)}"] if self.n else []


def _steps(*arguments: str) -> tuple[str, ...]:
    return (*arguments, "--steps", "10")


CASES = (
    ExtrapolatedProgram("ring", "ring.py", (), (4, 5, 6, 8)),
    ExtrapolatedProgram("stencil 2-D, 5 points", "stencil2d.py", _steps(), PLANES),
    ExtrapolatedProgram("stencil 2-D, periodic", "stencil2d.py", _steps("--periodic"), PLANES),
    ExtrapolatedProgram("stencil 2-D, 9 points", "stencil2d.py", _steps("--points", "9"), PLANES),
    ExtrapolatedProgram("stencil 2-D, Cartesian", "stencil2d.py", _steps("--cartesian"), PLANES),
    ExtrapolatedProgram("stencil 2-D, 100 ranks", "stencil2d.py", _steps(), PLANES, 100),
    ExtrapolatedProgram("stencil 2-D, 60 ranks", "stencil2d.py", _steps(), PLANES, 60),
    ExtrapolatedProgram("stencil 2-D, weak", "stencil2d.py", _steps("--size", "{n}"), PLANES, n=2, weak=True),
    ExtrapolatedProgram("stencil 3-D, 7 points", "stencil3d.py", _steps(), CUBES),
    ExtrapolatedProgram("bt", "npb/bt.py", _steps("--size", "{n}"), (16, 25, 36, 49), n=16),
    ExtrapolatedProgram("sp", "npb/sp.py", _steps("--size", "{n}"), (16, 25, 36, 49), n=16),
    ExtrapolatedProgram("bt, 100 ranks", "npb/bt.py", _steps("--size", "{n}"), (16, 25, 36, 49), 100, n=16),
    ExtrapolatedProgram("bt, weak", "npb/bt.py", _steps("--size", "{n}"), (16, 25, 36, 49), n=3, weak=True),
    ExtrapolatedProgram(
        "cg, plug-in", "npb/cg.py", _steps("--size", "8"), (8, 16, 32), plugin="plugins/cg_transpose.py"
    ),
    ExtrapolatedProgram("ep", "npb/ep.py", ("--size", "32"), (4, 6, 8)),
    ExtrapolatedProgram("ft", "npb/ft.py", _steps("--size", "{n}"), (4, 6, 9, 12, 16), n=48),
    ExtrapolatedProgram("ft, weak", "npb/ft.py", _steps("--size", "{n}"), (4, 6, 9, 12, 16), n=12, weak=True),
    ExtrapolatedProgram("lu", "npb/lu.py", _steps("--size", "{n}"), PLANES, n=8),
    ExtrapolatedProgram("lu, weak", "npb/lu.py", _steps("--size", "{n}"), PLANES, n=3, weak=True),
    ExtrapolatedProgram("lu, 60 ranks", "npb/lu.py", _steps("--size", "{n}"), PLANES, 60, n=12),
    ExtrapolatedProgram("mg", "npb/mg.py", _steps("--size", "16"), (8, 16, 32)),
    ExtrapolatedProgram("sweep3d", "sweep3d.py", _steps("--size", "2"), PLANES),
    ExtrapolatedProgram("sweep3d, 100 ranks", "sweep3d.py", _steps("--size", "2"), PLANES, 100),
    ExtrapolatedProgram("sweep3d, weak", "sweep3d.py", _steps("--size", "{n}"), PLANES, n=1, weak=True),
    ExtrapolatedProgram("hpl, swaps by a rule", "hpl.py", _steps("--size", "2", "--pivots", "next"), SQUARES),
    ExtrapolatedProgram(
        "hpl, rule, 100 ranks",
        "hpl.py",
        _steps("--size", "2", "--pivots", "next"),
        SQUARES,
        100,
    ),
    ExtrapolatedProgram("hpl, no swaps", "hpl.py", _steps("--size", "2", "--pivots", "diagonal"), SQUARES),
    ExtrapolatedProgram("hpl, random pivots", "hpl.py", _steps("--size", "2"), SQUARES),
    ExtrapolatedProgram(
        "is, averaged volumes",
        "npb/is.py",
        _steps("--size", "{n}"),
        (4, 6, 9, 12, 16),
        36,
        n=64,
        options=("--histograms", "1"),
    ),
    ExtrapolatedProgram("subcomms", "subcomms.py", (), PLANES),
    ExtrapolatedProgram("ocean", "ocean.py", _steps("--size", "4"), PLANES),
)


@dataclass(frozen=True)
class TimedProgram(ExtrapolatedProgram):
    """A program whose time is compared, too.

    Attributes:
        computation: "strong": all ranks together compute a constant time; "weak": each rank does;
            "-": nothing computes, and times are not compared.
    """

    computation: str = "-"


_GRIDS, _PLANES, _SQUARES = (4, 6, 8, 9), (6, 9, 12, 16), (4, 9, 16, 25)
_N, _STEPS = ("--size", "{n}"), ("--steps", "10")
_CG = TimedProgram("cg", "npb/cg.py", ("--size", "8"), (2, 4, 8), 16, plugin="plugins/cg_transpose.py")
_EP = TimedProgram("ep", "npb/ep.py", ("--size", "32"), (3, 4, 6, 8), 12)
_IS = TimedProgram("is", "npb/is.py", _N, _GRIDS, 12, n=64, options=("--histograms", "1"))
_BT = TimedProgram("bt", "npb/bt.py", _N, _SQUARES, 36)
_FT = TimedProgram("ft", "npb/ft.py", _N, _GRIDS, 12)
_LU = TimedProgram("lu", "npb/lu.py", _N, _PLANES, 20)
_SWEEP = TimedProgram("sweep3d", "sweep3d.py", _N, _PLANES, 20)

#: Programs of Figure 3.9 that compute nothing.
MICRO = (
    TimedProgram("ring", "ring.py", (), (3, 4, 5, 6), 12),
    TimedProgram("stencil 2-D", "stencil2d.py", _STEPS, _PLANES, 20),
    TimedProgram("stencil 3-D", "stencil3d.py", _STEPS, (8, 12, 18, 27), 36),
)
#: Programs of Figures 3.10 and 3.11. --size of IS is per rank, so its messages scale weakly in both.
TIMED = (
    replace(_BT, n=17, computation="strong"),
    replace(_CG, computation="strong"),
    replace(_EP, computation="strong"),
    replace(_FT, n=48, computation="strong"),
    replace(_IS, computation="strong"),
    replace(_LU, n=8, computation="strong"),
    replace(_BT, n=3, weak=True, computation="weak"),
    replace(_EP, computation="weak"),
    replace(_FT, n=12, weak=True, computation="weak"),
    replace(_IS, computation="weak"),
    replace(_LU, n=3, weak=True, computation="weak"),
    replace(_SWEEP, n=1, weak=True, computation="weak"),
)


def record_program(mpi: Mpi, case: ExtrapolatedProgram, nprocs: int, folder: Path) -> Path:
    """The recorded trace of a case on so many ranks. AssertionError when it cannot be recorded."""
    argv = [word.format(n=case.size(nprocs)) for word in case.arguments]
    options = [*case.options, *case.noted(nprocs)]
    words = [Path(case.source).stem, *argv, *options, str(nprocs)]
    path = folder / ("-".join(word.strip("-") for word in words) + ".st")
    if not path.exists():
        command = [str(mpi.python), str(SAMPLES / case.source), *argv]
        record(mpi, nprocs, command, path, options=options, timeout=300).check()
    return path


@contextmanager
def folder_of_traces(given: Path | None) -> Iterator[Path]:
    """The folder in which recorded traces are stored: a given one, or one that is removed."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = given or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
