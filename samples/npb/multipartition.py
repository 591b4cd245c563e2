"""Not a program: the multi-partition decomposition and the ADI steps that bt.py and sp.py share.

A grid of size**3 points is cut into p**3 cells, p being the square root of the number of ranks. A rank owns
p cells on a diagonal: one in every plane of cells, whatever the direction, so that in each stage of a sweep
through the grid every rank has a cell to work on.

Both programs advance u' = (X + Y + Z) u + f from u = 0 with the factored implicit step

    (I - dt X) (I - dt Y) (I - dt Z) du = dt ((X + Y + Z) u + f),      u = u + du

where X, Y and Z each act along one direction and couple the five components of u. The product m of three
sines is an eigenvector of all three. With one 5x5 matrix r instead of a number for eigenvalue, with
f = -3 r c m for a vector c, the field is known after n steps: (I - G^n) c m, G = I + 3 dt r (I - dt r)^-3.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workload

COMPONENTS = 5
AXES = (0, 1, 2)
FORWARD, BACKWARD = 1, -1
DT = 0.5
WEIGHTS = np.arange(1.0, COMPONENTS + 1)  # the vector c
Cell = np.ndarray
Work = Callable[[int, int, np.ndarray], np.ndarray]


class Partition:
    """The cells of this rank and the ranks that own the cells before and behind them in each direction."""

    def __init__(self, points: int) -> None:
        world = MPI.COMM_WORLD
        p = math.isqrt(world.size)
        j, i = divmod(world.rank, p)
        self.coords = [((i + c) % p, (j - c) % p, c) for c in range(p)]
        self.sizes = [tuple(points // p + (x < points % p) for x in where) for where in self.coords]
        self.starts = [tuple(x * (points // p) + min(x, points % p) for x in w) for w in self.coords]
        self.successor = ((i + 1) % p + p * j, i + p * ((j + 1) % p), (i - 1) % p + p * ((j + 1) % p))
        self.predecessor = ((i - 1) % p + p * j, i + p * ((j - 1) % p), (i + 1) % p + p * ((j - 1) % p))
        # Which cell a sweep along each axis reaches in each stage.
        self.order = [sorted(range(p), key=lambda c, a=axis: self.coords[c][a]) for axis in AXES]
        self.widest = -(-points // p)

    def partner(self, axis: int, way: int) -> int:
        """The rank that owns the cells next to this rank's in that direction."""
        return (self.successor if way == FORWARD else self.predecessor)[axis]

    def inside(self, axis: int, way: int) -> list[int]:
        """The cells that have a neighbour in that direction."""
        return [c for c, w in enumerate(self.coords) if 0 <= w[axis] + way < len(self.coords)]

    def lines(self, c: int, axis: int) -> tuple[int, int]:
        """How many grid lines along `axis` go through the cell."""
        across = [n for a, n in enumerate(self.sizes[c]) if a != axis]
        return across[0], across[1]


def shifted(u: Cell, depth: int, axis: int, by: int) -> Cell:
    """The cell's own points moved along `axis`, into the ghost points around them."""
    index = [slice(depth, n - depth) for n in u.shape[:3]]
    index[axis] = slice(depth + by, u.shape[axis] - depth + by)
    return u[tuple(index)]


class Faces:
    """Fills the ghost points: per direction one message carries the `depth` outer layers of all cells."""

    def __init__(self, comm: MPI.Comm, part: Partition, depth: int) -> None:
        self.comm, self.part, self.depth = comm, part, depth
        self.links = [(axis, way, part.inside(axis, way)) for axis in AXES for way in (FORWARD, BACKWARD)]
        self.incoming = [np.zeros(self.count(axis, cells)) for axis, _, cells in self.links]

    def count(self, axis: int, cells: list[int]) -> int:
        return sum(math.prod(self.part.lines(c, axis)) for c in cells) * self.depth * COMPONENTS

    def layers(self, u: Cell, axis: int, way: int, ghost: bool) -> Cell:
        """The cell's outer layers on that side, or with `ghost` the ghost layers beyond them."""
        moved = np.moveaxis(shifted(u, self.depth, axis, way * self.depth * ghost), axis, 0)
        return moved[-self.depth :] if way == FORWARD else moved[: self.depth]

    def exchange(self, field: list[Cell]) -> None:
        if len(field) == 1:
            return  # the only cell has walls all around
        requests = []
        for (axis, way, _), buffer in zip(self.links, self.incoming, strict=True):
            requests.append(self.comm.Irecv(buffer, self.part.partner(axis, way), 2 * axis + (way < 0)))
        for axis, way, cells in self.links:
            buffer = np.concatenate([self.layers(field[c], axis, way, False).ravel() for c in cells])
            requests.append(self.comm.Isend(buffer, self.part.partner(axis, way), 2 * axis + (way > 0)))
        MPI.Request.Waitall(requests)
        for (axis, way, cells), buffer in zip(self.links, self.incoming, strict=True):
            taken = 0
            for c in cells:
                face = self.layers(field[c], axis, way, True)
                face[...] = buffer[taken : taken + face.size].reshape(face.shape)
                taken += face.size


class Adi:
    """The steps; a program says how the equations along one direction look and how they are solved."""

    depth = 1  # ghost layers
    coupling = np.eye(COMPONENTS)
    damping = 0.0  # of the fourth difference; not zero needs two ghost layers

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.part = args, Partition(args.size)
        self.solve_comm, rhs_comm = MPI.COMM_WORLD.Dup(), MPI.COMM_WORLD.Dup()
        self.faces = Faces(rhs_comm, self.part, self.depth)
        eigenvalue = 2 * math.cos(math.pi / (args.size + 1)) - 2
        self.symbol = self.coupling * eigenvalue - self.damping * eigenvalue**2 * np.eye(COMPONENTS)
        self.modes = [self.mode(c) for c in range(len(self.part.sizes))]
        self.u = [np.zeros([n + 2 * self.depth for n in s] + [COMPONENTS]) for s in self.part.sizes]
        self.rhs = [np.zeros([*s, COMPONENTS]) for s in self.part.sizes]

    def mode(self, c: int) -> Cell:
        """The eigenvector on cell `c`, zero at the walls one point beyond the grid."""
        where = zip(self.part.starts[c], self.part.sizes[c], strict=True)
        waves = [np.sin(math.pi * (s + 1 + np.arange(n)) / (self.args.size + 1)) for s, n in where]
        return np.einsum("i,j,k->ijk", *waves)[..., None]

    def edge_shape(self, way: int, lines: tuple[int, int]) -> tuple[int, ...]:
        """Shape of what a sweep hands over from cell to cell."""
        raise NotImplementedError

    def message_lines(self, c: int, axis: int) -> tuple[int, int]:
        """For how many grid lines a sweep's message has room."""
        return self.part.lines(c, axis)

    def tag(self, c: int, axis: int, way: int) -> int:
        raise NotImplementedError

    def complete(self, sending: MPI.Request, receiving: MPI.Request) -> None:
        raise NotImplementedError

    def eliminate(self, c: int, axis: int, edge: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def substitute(self, c: int, axis: int, edge: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def reflect(self, u: Cell, c: int) -> None:
        """Continue the field beyond a wall, where the second ghost layer mirrors the first points."""
        for axis in AXES if self.depth > 1 else ():
            for way, ghost, own in ((BACKWARD, 0, 2), (FORWARD, -1, -3)):
                if c not in self.part.inside(axis, way):
                    moved = np.moveaxis(u, axis, 0)
                    moved[ghost] = -moved[own]

    def compute_rhs(self) -> None:
        workload.compute(self.args)
        for c, u in enumerate(self.u):
            self.reflect(u, c)
            own = shifted(u, self.depth, 0, 0)
            near = sum(shifted(u, self.depth, axis, by) for axis in AXES for by in (-1, 1))
            total = (near - 6 * own) @ self.coupling.T - 3 * self.modes[c] * (self.symbol @ WEIGHTS)
            if self.damping:
                far = sum(shifted(u, self.depth, axis, by) for axis in AXES for by in (-2, 2))
                total -= self.damping * (far - 4 * near + 18 * own)
            self.rhs[c][...] = DT * total

    def sweep(self, axis: int, way: int, work: Work) -> None:
        """Go through the cells along `axis`, each taking up the lines where the one before left them."""
        order = self.part.order[axis][::way]
        sending = MPI.REQUEST_NULL
        for stage, c in enumerate(order):
            shape = self.edge_shape(way, self.part.lines(c, axis))
            room = math.prod(self.edge_shape(way, self.message_lines(c, axis)))
            buffer = np.zeros(room)
            used, tag = math.prod(shape), self.tag(c, axis, way)
            if stage > 0:
                receiving = self.solve_comm.Irecv(buffer, self.part.partner(axis, -way), tag)
                self.complete(sending, receiving)
            edge = work(c, axis, buffer[:used].reshape(shape))
            if stage + 1 < len(order):
                outgoing = np.zeros(room)
                outgoing[:used] = edge.ravel()
                sending = self.solve_comm.Isend(outgoing, self.part.partner(axis, way), tag)

    def x_solve(self) -> None:
        workload.compute(self.args)
        self.sweep(0, FORWARD, self.eliminate)
        self.sweep(0, BACKWARD, self.substitute)

    def y_solve(self) -> None:
        workload.compute(self.args)
        self.sweep(1, FORWARD, self.eliminate)
        self.sweep(1, BACKWARD, self.substitute)

    def z_solve(self) -> None:
        workload.compute(self.args)
        self.sweep(2, FORWARD, self.eliminate)
        self.sweep(2, BACKWARD, self.substitute)

    def adi(self) -> None:
        """One time step."""
        self.faces.exchange(self.u)
        self.compute_rhs()
        self.x_solve()
        self.y_solve()
        self.z_solve()
        for u, du in zip(self.u, self.rhs, strict=True):
            shifted(u, self.depth, 0, 0)[...] += du

    def error(self, field: list[Cell], expected: np.ndarray) -> float:
        """Over the whole grid, how far the field is from the mode with these five amplitudes."""
        wrong = [f - m * expected for f, m in zip(field, self.modes, strict=True)]
        squares = np.array([sum((w[..., k] ** 2).sum() for w in wrong) for k in range(COMPONENTS)])
        total = np.zeros(COMPONENTS)
        MPI.COMM_WORLD.Allreduce(squares, total, MPI.SUM)
        return float(np.sqrt(total.max()))

    def verify(self) -> bool:
        """Compare the field and, once more computed, the right-hand side with what they must be."""
        unit = np.eye(COMPONENTS)
        solve = np.linalg.inv(np.linalg.matrix_power(unit - DT * self.symbol, 3))
        left = np.linalg.matrix_power(unit + 3 * DT * self.symbol @ solve, self.args.steps) @ WEIGHTS
        field_error = self.error([shifted(u, self.depth, 0, 0) for u in self.u], WEIGHTS - left)
        self.faces.exchange(self.u)
        self.compute_rhs()
        rhs_error = self.error(self.rhs, -3 * DT * self.symbol @ left)
        return max(field_error, rhs_error) < 1e-10


def run(program: str, args: argparse.Namespace, solver: type[Adi]) -> int:
    """Advance and compare with the exact solution; the exit status."""
    world = MPI.COMM_WORLD
    if math.isqrt(world.size) ** 2 != world.size:
        return workload.refuse(program, "the number of ranks must be a square")
    if args.size < solver.depth * math.isqrt(world.size):
        return workload.refuse(program, f"every cell needs at least {solver.depth} points per dimension")
    parameters = np.array([args.size, args.steps])
    world.Bcast(parameters)
    state = solver(args)
    world.Barrier()
    for _ in range(parameters[1]):
        state.adi()
    return workload.finish(program, args, state.verify())


if __name__ == "__main__":
    sys.exit("multipartition.py is a part of bt.py and sp.py")
