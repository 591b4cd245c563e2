"""Multigrid V-cycles on a three-dimensional torus of ranks: the communication of NPB MG.

    mpiexec -n 64 scalatrace record -o mg.st -- python samples/npb/mg.py --steps 100

Size: a power of two of ranks; --size points per dimension of the whole grid (16), a power of two, at least 4
and at least the ranks per dimension; --steps V-cycles (20). --local L instead of --size: L points per
dimension and rank, whatever the number of ranks (weak scaling); where one dimension is down to 2 points and
another is not, only the other one is coarsened. --dims XxYxZ: ranks per dimension, the first running fastest.
Expect: "correct" and status 0: every V-cycle shrinks the residual, and just as much as it does serially.
On every level the borders are exchanged along x, then y, then z: per dimension two Irecv, two Send and two
Wait. Where a level has fewer points than there are ranks (from 16 ranks on) the partners are 2, 4, ... ranks
away, the ranks between are idle and get what they need for the next finer level in messages of their own.
A V-cycle ends with the norm of the residual by Allreduce. All V-cycles make the same calls: the trace has the
same size for any number of steps.
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import workload

# Coefficients of NPB for the point itself, the 6 nearest, the 12 next and the 8 corners.
LAPLACIAN = (-8 / 3, 0.0, 1 / 6, 1 / 12)
SMOOTHER = (-3 / 8, 1 / 32, -1 / 64, 0.0)
UP, DOWN = 1, 2  # tags
COARSEST = 2  # points per dimension
# What a V-cycle leaves of the residual, at most, and where rounding errors begin.
SHRINKS = 0.5
ROUNDING = 1e-12
SERIAL_CYCLES = 12


def kernel(coefficients: tuple[float, ...]) -> np.ndarray:
    """The 27-point stencil with these coefficients."""
    return np.array(coefficients)[np.abs(np.indices((3, 3, 3)) - 1).sum(axis=0)]


def along(axis: int, part: slice) -> tuple[slice, ...]:
    """The part of a field along one axis."""
    return (slice(None),) * axis + (part,)


class Level:
    """This rank's part of one grid: `points` of its own per dimension (0: none) and ghosts around them.

    Without a communicator the whole grid.
    """

    def __init__(self, comm: MPI.Comm | None, dims: list[int], total: list[int]) -> None:
        self.comm, self.total = comm, total
        coords = [int(c) for c in np.unravel_index(comm.rank if comm else 0, dims, "F")]
        self.partners: list[tuple[int, int]] = []
        self.points: list[int] = []
        for axis, (place, ranks, n) in enumerate(zip(coords, dims, total, strict=True)):
            # With fewer points than ranks only every `distance`-th rank holds one.
            distance = max(1, ranks // n)
            self.points.append((place + 1) * n // ranks - place * n // ranks)
            ends = [[*coords[:axis], (place + d) % ranks, *coords[axis + 1 :]] for d in (-distance, distance)]
            self.partners.append(tuple(int(np.ravel_multi_index(end, dims, order="F")) for end in ends))
        self.active = all(self.points)
        self.own = [slice(c * n // r, (c + 1) * n // r) for c, r, n in zip(coords, dims, total, strict=True)]
        self.u, self.r = (np.zeros([p + 2 for p in self.points]) for _ in range(2))

    def exchange(self, field: np.ndarray) -> None:
        """Fill the ghosts from the 6 partners; the later dimensions pass on what came in the earlier ones."""
        for axis in range(3):
            if not self.comm:
                field[along(axis, slice(1))] = field[along(axis, slice(-2, -1))]
                field[along(axis, slice(-1, None))] = field[along(axis, slice(1, 2))]
                continue
            expected = self.ready(field, axis)
            self.give(field, axis)
            self.take(field, axis, expected)

    def ready(self, field: np.ndarray, axis: int) -> list[tuple[MPI.Request, np.ndarray]]:
        """Post the receives from both partners along an axis."""
        incoming = [np.empty_like(field[along(axis, slice(1))], order="C") for _ in range(2)]
        below, above = self.partners[axis]
        requests = [self.comm.Irecv(incoming[0], below, UP), self.comm.Irecv(incoming[1], above, DOWN)]
        return list(zip(requests, incoming, strict=True))

    def give(self, field: np.ndarray, axis: int) -> None:
        """Send the outermost points of this rank's own to both partners along an axis."""
        below, above = self.partners[axis]
        self.comm.Send(np.ascontiguousarray(field[along(axis, slice(-2, -1))]), above, UP)
        self.comm.Send(np.ascontiguousarray(field[along(axis, slice(1, 2))]), below, DOWN)

    def take(self, field: np.ndarray, axis: int, expected: list[tuple[MPI.Request, np.ndarray]]) -> None:
        """Wait for both partners' points."""
        for (request, incoming), ghost in zip(expected, (slice(1), slice(-1, None)), strict=True):
            request.Wait()
            field[along(axis, ghost)] = incoming

    def hand_out(self, coarse: "Level") -> None:
        """Give the coarser level's correction to those ranks that have points on this level only."""
        for axis in self.coarsened(coarse):
            if self.points[axis] == 1 and coarse.points[axis] == 0:
                self.take(coarse.u, axis, self.ready(coarse.u, axis))
            elif self.points[axis] == 1 and coarse.points[axis] == 1:
                self.give(coarse.u, axis)

    def coarsened(self, coarse: "Level") -> list[int]:
        """The dimensions in which the coarser level has fewer points."""
        return [axis for axis in range(3) if coarse.total[axis] < self.total[axis]]

    def shift(self, coarse: "Level", axis: int) -> int:
        """Coarse point i lies on fine point 2i + 1; 1 if that is this rank's only one, else 0."""
        return int(self.points[axis] == coarse.points[axis])

    def restrict(self, coarse: "Level") -> None:
        """Weighted means of the residual make the coarser level's right-hand side."""
        if coarse.active:
            field = 4 * self.r
            for axis in range(3):
                first, step = 1, 1
                if axis in self.coarsened(coarse):
                    first, step = 2 - self.shift(coarse, axis), 2
                n = step * coarse.points[axis]
                left, middle, right = (
                    field[along(axis, slice(first + d, first + d + n - step + 1, step))] for d in (-1, 0, 1)
                )
                field = (left + 2 * middle + right) / 4
            coarse.r[1:-1, 1:-1, 1:-1] = field
            coarse.exchange(coarse.r)

    def interpolate(self, coarse: "Level") -> None:
        """Add the coarser level's correction, also to the ghosts."""
        self.hand_out(coarse)
        field = coarse.u
        for axis in self.coarsened(coarse):
            shape = list(field.shape)
            shape[axis] = 2 * shape[axis] - 1
            finer = np.empty(shape)
            finer[along(axis, slice(0, None, 2))] = field
            halves = (field[along(axis, slice(0, -1))] + field[along(axis, slice(1, None))]) / 2
            finer[along(axis, slice(1, None, 2))] = halves
            first = self.shift(coarse, axis)
            field = finer[along(axis, slice(first, first + self.points[axis] + 2))]
        self.u += field

    def residual(self, right: np.ndarray) -> None:
        """r = right - A u"""
        self.r[1:-1, 1:-1, 1:-1] = right - stencil(self.u, LAPLACIAN_KERNEL)
        self.exchange(self.r)

    def smooth(self) -> None:
        """u += S r"""
        self.u[1:-1, 1:-1, 1:-1] += stencil(self.r, SMOOTHER_KERNEL)
        self.exchange(self.u)


LAPLACIAN_KERNEL, SMOOTHER_KERNEL = kernel(LAPLACIAN), kernel(SMOOTHER)


def stencil(field: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The stencil applied to all points but the ghosts."""
    windows = np.lib.stride_tricks.sliding_window_view(field, (3, 3, 3))
    return np.einsum("xyzabc,abc->xyz", windows, weights)


def v_cycle(levels: list[Level], right: np.ndarray) -> None:
    """Improve the finest u by a correction from all coarser levels; the levels begin with the finest."""
    finest, coarsest = levels[0], levels[-1]
    pairs = [(fine, coarse) for fine, coarse in itertools.pairwise(levels) if fine.active]
    for fine, coarse in pairs:
        coarse.u[...] = 0
        fine.restrict(coarse)
    if coarsest.active:
        coarsest.smooth()
    for fine, coarse in reversed(pairs):
        fine.interpolate(coarse)
        fine.residual(right if fine is finest else fine.r[1:-1, 1:-1, 1:-1])
        fine.smooth()
    finest.residual(right)


def norm(level: Level) -> float:
    """The norm of the residual."""
    total = np.sum(level.r[1:-1, 1:-1, 1:-1] ** 2).reshape(1)
    if level.comm:
        level.comm.Allreduce(MPI.IN_PLACE, total, MPI.SUM)
    return math.sqrt(total[0])


def charges(n: list[int]) -> np.ndarray:
    """The right-hand side: ten charges +1 and ten -1, as in NPB."""
    whole = np.zeros(math.prod(n))
    places = np.random.default_rng(0).permutation(whole.size)
    whole[places[:10]], whole[places[10:20]] = 1, -1
    return whole.reshape(n)


def torus(ranks: int) -> list[int]:
    """The ranks per dimension, the first running fastest, as in NPB."""
    stages = ranks.bit_length() - 1
    x, y = stages // 3, (stages - stages // 3) // 2
    return [1 << x, 1 << y, 1 << stages - x - y]


def solve(
    comm: MPI.Comm | None, dims: list[int], size: list[int], args: argparse.Namespace, cycles: int
) -> np.ndarray:
    """The norm of the residual at the start and after each V-cycle."""
    depth = range(max(size).bit_length() - 1)
    levels = [Level(comm, dims, [max(n >> k, COARSEST) for n in size]) for k in depth]
    finest = levels[0]
    right = charges(size)[tuple(finest.own)]
    finest.residual(right)
    norms = [norm(finest)]
    for _ in range(cycles):
        if comm:
            workload.compute(args)
        v_cycle(levels, right)
        norms.append(norm(finest))
    return np.array(norms)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    made = workload.parser("multigrid V-cycles on a torus of ranks, as NPB MG", 16, 20)
    made.add_argument("--local", type=int, help="points per dimension and rank, instead of --size")
    made.add_argument("--dims", help="ranks per dimension, the first running fastest: 4x2x2")
    return workload.parse(made)


def main() -> int:
    args = arguments()
    ranks = MPI.COMM_WORLD.size
    if ranks.bit_count() != 1:
        return workload.refuse("mg", "the number of ranks must be a power of two")
    dims = [int(part) for part in args.dims.split("x")] if args.dims else torus(ranks)
    if len(dims) != 3 or math.prod(dims) != ranks or min(dims) < 1:
        return workload.refuse("mg", f"--dims must be three numbers whose product is {ranks}")
    size = [args.local * side for side in dims] if args.local else [args.size] * 3
    if any(n.bit_count() != 1 or n < max(4, side) for n, side in zip(size, dims, strict=True)):
        return workload.refuse("mg", f"--size must be a power of two and at least {max(4, *dims)}")
    norms = solve(MPI.COMM_WORLD, dims, size, args, args.steps)
    good = bool(np.all(norms[1:] < SHRINKS * norms[:-1] + ROUNDING))
    if MPI.COMM_WORLD.rank == 0:
        # The first cycles tell whether all ranks together do what one does alone.
        first = norms[: SERIAL_CYCLES + 1]
        good &= np.allclose(first, solve(None, [1, 1, 1], size, args, len(first) - 1), 1e-9, ROUNDING)
    return workload.finish("mg", args, good)


if __name__ == "__main__":
    sys.exit(main())
