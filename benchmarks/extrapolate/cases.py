"""The programs, with the numbers of ranks of inputs and targets."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.trace.symbolic.grid import balanced

PLANES = (16, 20, 25, 30, 36)
CUBES = (27, 36, 48, 80)
SQUARES = (9, 16, 25, 36)


@dataclass(frozen=True)
class Case:
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
    Case("ring", "ring.py", (), (4, 5, 6, 8)),
    Case("stencil 2-D, 5 points", "stencil2d.py", _steps(), PLANES),
    Case("stencil 2-D, periodic", "stencil2d.py", _steps("--periodic"), PLANES),
    Case("stencil 2-D, 9 points", "stencil2d.py", _steps("--points", "9"), PLANES),
    Case("stencil 2-D, Cartesian", "stencil2d.py", _steps("--cartesian"), PLANES),
    Case("stencil 2-D, 100 ranks", "stencil2d.py", _steps(), PLANES, 100),
    Case("stencil 2-D, 60 ranks", "stencil2d.py", _steps(), PLANES, 60),
    Case("stencil 2-D, weak", "stencil2d.py", _steps("--size", "{n}"), PLANES, n=2, weak=True),
    Case("stencil 3-D, 7 points", "stencil3d.py", _steps(), CUBES),
    Case("bt", "npb/bt.py", _steps("--size", "{n}"), (16, 25, 36, 49), n=16),
    Case("sp", "npb/sp.py", _steps("--size", "{n}"), (16, 25, 36, 49), n=16),
    Case("bt, 100 ranks", "npb/bt.py", _steps("--size", "{n}"), (16, 25, 36, 49), 100, n=16),
    Case("bt, weak", "npb/bt.py", _steps("--size", "{n}"), (16, 25, 36, 49), n=3, weak=True),
    Case("cg, plug-in", "npb/cg.py", _steps("--size", "8"), (8, 16, 32), plugin="plugins/cg_transpose.py"),
    Case("ep", "npb/ep.py", ("--size", "32"), (4, 6, 8)),
    Case("ft", "npb/ft.py", _steps("--size", "{n}"), (4, 6, 9, 12, 16), n=48),
    Case("ft, weak", "npb/ft.py", _steps("--size", "{n}"), (4, 6, 9, 12, 16), n=12, weak=True),
    Case("lu", "npb/lu.py", _steps("--size", "{n}"), PLANES, n=8),
    Case("lu, weak", "npb/lu.py", _steps("--size", "{n}"), PLANES, n=3, weak=True),
    Case("lu, 60 ranks", "npb/lu.py", _steps("--size", "{n}"), PLANES, 60, n=12),
    Case("mg", "npb/mg.py", _steps("--size", "16"), (8, 16, 32)),
    Case("sweep3d", "sweep3d.py", _steps("--size", "2"), PLANES),
    Case("sweep3d, 100 ranks", "sweep3d.py", _steps("--size", "2"), PLANES, 100),
    Case("sweep3d, weak", "sweep3d.py", _steps("--size", "{n}"), PLANES, n=1, weak=True),
    Case("hpl, swaps by a rule", "hpl.py", _steps("--size", "2", "--pivots", "next"), SQUARES),
    Case(
        "hpl, rule, 100 ranks",
        "hpl.py",
        _steps("--size", "2", "--pivots", "next"),
        SQUARES,
        100,
    ),
    Case("hpl, no swaps", "hpl.py", _steps("--size", "2", "--pivots", "diagonal"), SQUARES),
    Case("hpl, random pivots", "hpl.py", _steps("--size", "2"), SQUARES),
    Case(
        "is, averaged volumes",
        "npb/is.py",
        _steps("--size", "{n}"),
        (4, 6, 9, 12, 16),
        36,
        n=64,
        options=("--histograms", "1"),
    ),
    Case("subcomms", "subcomms.py", (), PLANES),
    Case("ocean", "ocean.py", _steps("--size", "4"), PLANES),
)
