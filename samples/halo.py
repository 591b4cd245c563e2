"""Not a program: the decomposed grid and the halo exchange that stencil2d.py and stencil3d.py share.

The stencils advance the wave equation with the leapfrog rule

    u[n+1] = 2 ((1 - c) u[n] + c A u[n]) - u[n-1],      A = mean over the neighbouring points

and start in an eigenvector of A (a product of sines or of one cosine), so that after any number of steps
the field is known exactly: cos(n theta) times the start, where cos(theta) = 1 - c + c a for eigenvalue a.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

COURANT = 0.5
Offset = tuple[int, ...]
Field = np.ndarray


def offsets(ndims: int, corners: bool) -> list[Offset]:
    """Directions to the neighbouring points: the 2 * ndims nearest, or with `corners` all 3**ndims - 1."""
    steps = itertools.product((-1, 0, 1), repeat=ndims)
    return [o for o in steps if any(o) and (corners or sum(map(abs, o)) == 1)]


@dataclass
class Grid:
    """This rank's block of `size`**ndims points (a ghost layer around it) and its place among the blocks."""

    comm: MPI.Comm
    dims: list[int]
    coords: list[int]
    periodic: bool
    size: int

    @classmethod
    def cartesian(cls, ndims: int, periodic: bool, size: int) -> Grid:
        """Blocks placed by MPI_Cart_create."""
        dims = MPI.Compute_dims(MPI.COMM_WORLD.size, ndims)
        cart = MPI.COMM_WORLD.Create_cart(dims, [periodic] * ndims)
        return cls(cart, dims, cart.coords, periodic, size)

    @classmethod
    def by_hand(cls, ndims: int, periodic: bool, size: int) -> Grid:
        """Blocks in row-major order over the ranks of MPI_COMM_WORLD."""
        comm = MPI.COMM_WORLD
        dims = MPI.Compute_dims(comm.size, ndims)
        coords = [int(c) for c in np.unravel_index(comm.rank, dims)]
        return cls(comm, dims, coords, periodic, size)

    def neighbour(self, offset: Offset) -> int:
        """Rank of the block in that direction; MPI.PROC_NULL beyond the border."""
        where = [c + o for c, o in zip(self.coords, offset, strict=True)]
        if self.periodic:
            where = [w % d for w, d in zip(where, self.dims, strict=True)]
        elif any(not 0 <= w < d for w, d in zip(where, self.dims, strict=True)):
            return MPI.PROC_NULL
        return int(np.ravel_multi_index(where, self.dims))

    def axes(self) -> list[np.ndarray]:
        """Global indices of the block's points, one array per dimension, shaped to broadcast."""
        own = [np.arange(c * self.size, (c + 1) * self.size) for c in self.coords]
        return list(np.ix_(*own))

    def wave_numbers(self) -> list[float]:
        """One whole period (periodic) or half a period (fixed borders) over each dimension."""
        points = [d * self.size for d in self.dims]
        return [2 * math.pi / n if self.periodic else math.pi / (n + 1) for n in points]

    def mode(self) -> Field:
        """The eigenvector of the averaging operator on this block."""
        if self.periodic:
            phase = sum(k * x for k, x in zip(self.wave_numbers(), self.axes(), strict=True))
            return np.cos(phase)
        field = np.ones([self.size] * len(self.dims))
        for k, x in zip(self.wave_numbers(), self.axes(), strict=True):
            field = field * np.sin(k * (x + 1))
        return field


def eigenvalue(wave_numbers: list[float], corners: bool) -> float:
    """Eigenvalue of the averaging operator for `Grid.mode`."""
    cosines = [math.cos(k) for k in wave_numbers]
    if not corners:
        return sum(cosines) / len(cosines)
    return (math.prod(1 + 2 * c for c in cosines) - 1) / (3 ** len(cosines) - 1)


def interior(offset: Offset, size: int) -> tuple[slice, ...]:
    """The block's own points that the neighbour in that direction needs."""
    return tuple({-1: slice(1, 2), 0: slice(1, -1), 1: slice(size, size + 1)}[o] for o in offset)


def ghost(offset: Offset, size: int) -> tuple[slice, ...]:
    """The ghost points that the neighbour in that direction fills."""
    return tuple({-1: slice(0, 1), 0: slice(1, -1), 1: slice(size + 1, size + 2)}[o] for o in offset)


class Halo:
    """Exchange of the ghost layer: one message to and from every neighbour, completed together."""

    def __init__(self, grid: Grid, directions: list[Offset], skip_missing: bool) -> None:
        """`skip_missing`: make no call at all beyond the border instead of one with MPI.PROC_NULL."""
        self.grid = grid
        self.links = []
        for number, offset in enumerate(directions):
            rank = grid.neighbour(offset)
            if rank == MPI.PROC_NULL and skip_missing:
                continue
            back = directions.index(tuple(-o for o in offset))
            shape = [1 if o else grid.size for o in offset]
            self.links.append((rank, offset, number, back, np.zeros(shape), np.zeros(shape)))

    def exchange(self, field: Field) -> None:
        """Fill the ghost points of `field` from the neighbours."""
        requests = []
        for rank, _, _, back, incoming, _ in self.links:
            requests.append(self.grid.comm.Irecv(incoming, rank, back))
        for rank, offset, number, _, _, outgoing in self.links:
            outgoing[...] = field[interior(offset, self.grid.size)]
            requests.append(self.grid.comm.Isend(outgoing, rank, number))
        MPI.Request.Waitall(requests)
        for rank, offset, _, _, incoming, _ in self.links:
            if rank != MPI.PROC_NULL:
                field[ghost(offset, self.grid.size)] = incoming


def averaged(field: Field, directions: list[Offset]) -> Field:
    """Mean over the neighbours of each of the block's own points."""
    total = 0.0
    for offset in directions:
        total = total + field[tuple(slice(1 + o, field.shape[i] - 1 + o) for i, o in enumerate(offset))]
    return total / len(directions)


def advance(grid: Grid, halo: Halo, directions: list[Offset], steps: int, theta: float) -> Field:
    """The field on this block after `steps` steps of the leapfrog rule."""
    inner = (slice(1, -1),) * len(grid.dims)
    field = np.pad(grid.mode(), 1)
    before = math.cos(-theta) * field[inner]
    for _ in range(steps):
        halo.exchange(field)
        after = 2 * ((1 - COURANT) * field[inner] + COURANT * averaged(field, directions)) - before
        before = field[inner].copy()
        field[inner] = after
    return field[inner]


def run(grid: Grid, points: int, steps: int, skip_missing: bool) -> int:
    """Advance the wave and compare with the exact solution; 0 when they agree."""
    corners = points > 2 * len(grid.dims) + 1
    directions = offsets(len(grid.dims), corners)
    theta = math.acos(1 - COURANT + COURANT * eigenvalue(grid.wave_numbers(), corners))
    halo = Halo(grid, directions, skip_missing)
    field = advance(grid, halo, directions, steps, theta)
    error = np.abs(field - math.cos(steps * theta) * grid.mode()).max()
    worst = np.zeros(1)
    grid.comm.Allreduce(error.reshape(1), worst, MPI.MAX)
    good = worst[0] < 1e-11 * (steps + 1) ** 2
    if grid.comm.rank == 0:
        shape = "x".join(map(str, grid.dims))
        print(f"{points}-point stencil, {shape} ranks, {steps} steps:", "correct" if good else "WRONG")
    return 0 if good else 1


def main(ndims: int, description: str, size: int) -> int:
    """Read the command line, place the blocks and run."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--points", type=int, choices=(2 * ndims + 1, 3**ndims), default=2 * ndims + 1)
    parser.add_argument("--cartesian", action="store_true", help="place the ranks with MPI_Cart_create")
    parser.add_argument("--periodic", action="store_true", help="opposite borders are neighbours")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--size", type=int, default=size, help="points of a rank's block per dimension")
    args = parser.parse_args()
    if args.steps < 0 or args.size < 1:
        parser.error("--steps must be 0 or more, --size 1 or more")
    place = Grid.cartesian if args.cartesian else Grid.by_hand
    grid = place(ndims, args.periodic, args.size)
    return run(grid, args.points, args.steps, skip_missing=not args.cartesian)


if __name__ == "__main__":
    sys.exit("halo.py is a part of stencil2d.py and stencil3d.py")
