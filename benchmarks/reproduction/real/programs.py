"""Programs of NPB and LULESH: problem sizes, input files, and the numbers of ranks of each experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt

InputFile = tuple[str, str]
"""Name and text of a file that a program reads in its working folder."""

STEPS = 10
"""Time steps of BT, SP and LU: calls of a step repeat, so more of them would only take longer."""

CYCLES = 2
"""V-cycles of MG."""


@dataclass(frozen=True)
class RealProgram:
    """A program with the numbers of ranks of an extrapolation.

    Attributes:
        suite: "NPB" or "LULESH".
        title: name of the program.
        size_class: class of NPB that is built; LULESH has none.
        inputs: ranks of the recorded traces.
        target: ranks of the run that is predicted.
        scaling: "strong", "weak", or "fixed": one number of ranks.
        arguments: of the program.
        input_file: makes the input file of a run on so many ranks.
        options: of `scalatrace record`.
        params: NAME=VALUE, sizes that counts follow, noted by recorder and extrapolation.
        grids: grid of a number of ranks, where irregular calls hide it.
        ndims: dimensions of the grid of ranks.
        max_dropped: largest share of calls that `--lossy` may drop; 0: lossless.
    """

    suite: str
    title: str
    size_class: str
    inputs: tuple[int, ...]
    target: int
    scaling: str = "strong"
    arguments: tuple[str, ...] = ()
    input_file: Callable[[int], InputFile] | None = None
    options: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    grids: Callable[[int], tuple[int, ...]] | None = None
    ndims: int = 2
    max_dropped: float = 0.0

    @property
    def name(self) -> str:
        """Program and class, as "bt.W"."""
        return f"{self.title}.{self.size_class}" if self.size_class else self.title

    @property
    def lossy(self) -> bool:
        """Whether calls may be dropped."""
        return self.max_dropped > 0

    @property
    def noted(self) -> list[str]:
        """Options that note the parameters."""
        return [word for param in self.params for word in ("--param", param)]

    def loss_options(self) -> list[str]:
        """Return the options of `extrapolate` about dropped calls, and about the grids."""
        options = ["--lossy", "--max-dropped", str(self.max_dropped)] if self.lossy else []
        if self.grids is not None:
            words = ["x".join(map(str, self.grids(nprocs))) for nprocs in (*self.inputs, self.target)]
            options += ["--dims-of", ",".join(words[:-1]), "--dims", words[-1]]
        return options


def _multipartition(name: str, dt: float, points: Callable[[int], int]) -> Callable[[int], InputFile]:
    """Input of BT and SP: time steps, their length, and points in each direction by the side of the grid."""

    def input_file(nprocs: int) -> InputFile:
        n = points(isqrt(nprocs))
        return f"input{name}.data", f"{STEPS}\n{dt}\n{n} {n} {n}\n"

    return input_file


def _lu_sides(nprocs: int) -> tuple[int, int]:
    """Return the sides of LU's grid in x and y (proc_grid.f90), the longer one first: 4x3 for 12 ranks."""
    y = next(side for side in range(isqrt(nprocs), 0, -1) if nprocs % side == 0)
    return nprocs // y, y


def _lu_input(points: Callable[[int], Sequence[int]]) -> Callable[[int], InputFile]:
    """Input of LU with its points in x, y, z: two lines of text before each line of values."""

    def input_file(nprocs: int) -> InputFile:
        sides = " ".join(map(str, points(nprocs)))
        values = ("1 250", str(STEPS), "1.5e-3", "1.2", "1e-8 1e-8 1e-8 1e-8 1e-8", sides)
        return "inputlu.data", "".join(f"c\nc\n{line}\n" for line in values)

    return input_file


def mg_grid(nprocs: int) -> tuple[int, int, int]:
    """Return the grid of MG (`setup` in mg.f90), the slowest direction first: 4x2x2 for 16 ranks."""
    bits = nprocs.bit_length() - 1
    x = bits // 3
    y = (bits - x) // 2
    return 2 ** (bits - x - y), 2**y, 2**x


def _mg_input(points: Callable[[int], Sequence[int]]) -> Callable[[int], InputFile]:
    """Input of MG: levels, points in x, y, z, cycles, and switches of its output."""

    def input_file(nprocs: int) -> InputFile:
        sides = points(nprocs)
        levels = max(sides).bit_length() - 1
        return "mg.input", f"{levels}\n{' '.join(map(str, sides))}\n{CYCLES}\n0 0 0 0 0 0 0 0\n"

    return input_file


def _constant(n: int) -> Callable[[int], int]:
    return lambda side: n


def _per_rank(n: int) -> Callable[[int], int]:
    return lambda side: n * side


_SQUARES, _POWERS = (4, 9, 16, 25), (4, 8, 16, 32)
_LULESH = ("-s", "4", "-i", "5")


_npb = partial(RealProgram, "NPB")


BT = _npb("bt", "W", _SQUARES, 36, input_file=_multipartition("bt", 0.0008, _constant(24)))
SP = _npb("sp", "W", (9, 16, 25), 36, input_file=_multipartition("sp", 0.0015, _constant(36)))
LU = _npb("lu", "W", (6, 9, 12, 16), 20, input_file=_lu_input(lambda nprocs: (33, 33, 33)))
MG = _npb("mg", "S", _POWERS, 64, input_file=_mg_input(lambda nprocs: (32, 32, 32)))
CG = _npb("cg", "S", (2, 4, 8), 16)
EP = _npb("ep", "S", (2, 4, 8), 16)
FT = _npb("ft", "S", (2, 4, 8), 16, params=("n=262144",), ndims=1)
IS = _npb("is", "S", (2, 4, 8, 16), 32, max_dropped=0.01)

STRONG = (EP, FT, IS, CG, LU, BT, SP, MG)
"""Figures 3.9 and 3.10."""


def _weak_lu_points(nprocs: int) -> tuple[int, ...]:
    """Points of LU in x, y, z: 6 for each rank in x and y."""
    return (*(6 * side for side in _lu_sides(nprocs)), 24)


WEAK = (
    _npb("bt", "W", _SQUARES, 36, "weak", input_file=_multipartition("bt", 0.0008, _per_rank(4))),
    _npb("lu", "W", (6, 9, 12, 16), 20, "weak", input_file=_lu_input(_weak_lu_points)),
)
"""Figure 3.11: the points of each rank are about constant. Sizes of the other programs are compiled in."""


def _weak_points(nprocs: int) -> tuple[int, ...]:
    """Points of MG in x, y, z: 16 for each rank and direction."""
    return tuple(16 * side for side in reversed(mg_grid(nprocs)))


LOSSY = (
    _npb(
        "mg", "S", _POWERS, 64, "strong", max_dropped=0.99, grids=mg_grid,
        input_file=_mg_input(lambda nprocs: (32, 32, 32)),
    ),
    _npb("mg", "W", _POWERS, 64, "weak", max_dropped=0.99, grids=mg_grid, input_file=_mg_input(_weak_points)),
)  # fmt: skip
"""Figure 3.12."""

LULESH = (
    RealProgram("LULESH", "lulesh", "", (8, 27), 64, "weak", _LULESH),
    RealProgram("LULESH", "lulesh", "", (8, 27, 64), 125, "weak", _LULESH),
)
"""LULESH is not in the dissertation."""


def _timed(program: RealProgram, nprocs: int) -> RealProgram:
    """The program with all its steps on a fixed number of ranks: the fewest on which it communicates."""
    return replace(
        program, size_class="W", inputs=(nprocs,), target=nprocs, scaling="fixed", input_file=None, options=()
    )


FIXED = (_timed(BT, 4), _timed(SP, 4), *(_timed(program, 2) for program in (CG, EP, FT, IS, LU, MG)))
"""Programs of Figures 4.8, 4.10 and 5.8: at most as many ranks as cores, where the program allows it."""

SIZED = (BT, CG, LU, SP, MG)
"""Programs of NPB in Figure 5.7."""

SCALED = (BT, FT)
"""Programs of Figure 4.9."""
