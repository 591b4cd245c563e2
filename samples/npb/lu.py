"""Symmetric successive over-relaxation with the communication of NPB LU: wavefronts through a 2-D grid.

    mpiexec -n 16 scalatrace record -o lu.st -- python samples/npb/lu.py --steps 300

Size: any number of ranks; --size points per dimension of the whole grid (12), at least one per row and column
of ranks; --steps iterations (100).
Expect: "correct" and status 0. Per step a wavefront runs through the planes of points, plane by plane, from
the north-west rank to the south-east one and then back: Recv from two neighbours, Send to the other two.
Then each rank exchanges the border with its four neighbours (Irecv, Send, Wait). Receives name no source,
MPI_ANY_SOURCE, but a tag that only one neighbour uses. At the rim there are fewer calls, so up to nine kinds
of ranks. The trace has the same size for any number of steps.

The equation is A u = f with A = L U, L = (1 - a S)(1 - a S')(1 - a S'') where the S shift by one point along
one direction and U is the transpose of L. A step is u = u + omega (LU)^-1 (f - A u); it takes the same share
of every error away, so that after n steps u = (1 - (1 - omega)^n) x, x being the solution. All numbers are
whole ones modulo a prime (NPB has real ones): the result is exact.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workload

COMPONENTS = 5
PRIME = 2**31 - 1
COUPLING, OMEGA = 3, 7  # a and omega: so small that the products below are exact in doubles
FROM_NORTH, FROM_WEST, FROM_SOUTH, FROM_EAST = 1, 2, 3, 4  # tags
Field = np.ndarray
Link = tuple[int, int, int]  # a neighbour, the tag of messages from it, the tag of messages to it


def applied(u: Field, axis: int, before: Field, after: Field, first: bool) -> Field:
    """(1 - a S)(1 - a S)^T u along `axis` with the points beyond its ends; `first`: none before it."""
    wide = np.concatenate([before, np.moveaxis(u, axis, 0), after])
    result = (1 + COUPLING**2) * wide[1:-1] - COUPLING * (wide[:-2] + wide[2:])
    if first:
        result[0] -= COUPLING**2 * wide[1]
    return np.moveaxis(result % PRIME, 0, axis)


def beyond(u: Field, axis: int) -> Field:
    """The zeros beyond an end of the grid."""
    return np.zeros_like(np.moveaxis(u, axis, 0)[:1], order="C")


def solve_plane(plane: Field, top: Field, left: Field) -> tuple[Field, Field]:
    """(1 - a S)^-1 (1 - a S')^-1 in place; what the blocks below and to the right go on with."""
    for row in plane:
        top = (row + COUPLING * top) % PRIME
        row[...] = top
    for column in plane.swapaxes(0, 1):
        left = (column + COUPLING * left) % PRIME
        column[...] = left
    return top, left


class Ssor:
    """This rank's block of the grid, planes of points first, then north to south, then west to east."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.comm = MPI.COMM_WORLD
        rows, columns = MPI.Compute_dims(self.comm.size, 2)
        row, column = divmod(self.comm.rank, columns)
        self.is_first = (row == 0, column == 0)
        self.north: Link = (self.neighbour(row > 0, -columns), FROM_NORTH, FROM_SOUTH)
        self.south: Link = (self.neighbour(row + 1 < rows, columns), FROM_SOUTH, FROM_NORTH)
        self.west: Link = (self.neighbour(column > 0, -1), FROM_WEST, FROM_EAST)
        self.east: Link = (self.neighbour(column + 1 < columns, 1), FROM_EAST, FROM_WEST)
        here = (slice(None), self.own(row, rows), self.own(column, columns))
        index = np.arange(args.size**3 * COMPONENTS).reshape(*[args.size] * 3, COMPONENTS)
        solution = (index**2 * 7919 % PRIME).astype(float)
        self.solution = solution[here]
        self.source = self.right_hand_side(solution)[here]
        self.u = np.zeros_like(self.source, order="C")

    def neighbour(self, exists: bool, distance: int) -> int:
        return self.comm.rank + distance if exists else MPI.PROC_NULL

    def own(self, block: int, blocks: int) -> slice:
        """The points of a block; the first blocks have one more if they cannot be divided evenly."""
        n, rest = divmod(self.args.size, blocks)
        start = block * n + min(block, rest)
        return slice(start, start + n + (block < rest))

    @staticmethod
    def right_hand_side(solution: Field) -> Field:
        """A times the solution, on the whole grid."""
        for axis in range(3):
            zeros = beyond(solution, axis)
            solution = applied(solution, axis, zeros, zeros, True)
        return solution

    def exchange_3(self, u: Field, axis: int, low: Link, high: Link) -> tuple[Field, Field]:
        """The points beyond both ends of the block, first all shifted to the high end, then to the low."""
        moved = np.moveaxis(u, axis, 0)
        before, after = beyond(u, axis), beyond(u, axis)
        self.shift(low, high, np.ascontiguousarray(moved[-1:]), before)
        self.shift(high, low, np.ascontiguousarray(moved[:1]), after)
        return before, after

    def shift(self, source: Link, target: Link, outgoing: Field, incoming: Field) -> None:
        if source[0] != MPI.PROC_NULL:
            request = self.comm.Irecv(incoming, MPI.ANY_SOURCE, source[1])
        if target[0] != MPI.PROC_NULL:
            self.comm.Send(outgoing, target[0], target[2])
        if source[0] != MPI.PROC_NULL:
            request.Wait()

    def rhs(self) -> Field:
        """The residual f - A u."""
        workload.compute(self.args)
        product = applied(self.u, 0, beyond(self.u, 0), beyond(self.u, 0), True)
        product = applied(product, 1, *self.exchange_3(product, 1, self.north, self.south), self.is_first[0])
        product = applied(product, 2, *self.exchange_3(product, 2, self.west, self.east), self.is_first[1])
        return (self.source - product) % PRIME

    def receive(self, link: Link, edge: Field) -> Field:
        if link[0] != MPI.PROC_NULL:
            self.comm.Recv(edge, MPI.ANY_SOURCE, link[1])
        return edge

    def send(self, link: Link, edge: Field) -> None:
        if link[0] != MPI.PROC_NULL:
            self.comm.Send(edge, link[0], link[2])

    def wavefront(self, block: Field, sources: tuple[Link, Link], targets: tuple[Link, Link]) -> None:
        """L^-1, or with the block turned around U^-1, in place."""
        above = np.zeros_like(block[0])
        for plane in block:
            top = self.receive(sources[0], np.zeros(plane.shape[1:]))
            left = self.receive(sources[1], np.zeros((plane.shape[0], COMPONENTS)))
            plane[...] = (plane + COUPLING * above) % PRIME
            above = plane.copy()
            bottom, right = solve_plane(plane, top, left)
            self.send(targets[0], bottom)
            self.send(targets[1], right)

    def lower(self, residual: Field) -> None:
        workload.compute(self.args)
        self.wavefront(residual, (self.north, self.west), (self.south, self.east))

    def upper(self, residual: Field) -> None:
        workload.compute(self.args)
        self.wavefront(residual[::-1, ::-1, ::-1], (self.south, self.east), (self.north, self.west))

    def norm(self, residual: Field) -> np.ndarray:
        """Per component the sum over the whole grid, in which no rounding occurs."""
        total = np.zeros(COMPONENTS)
        self.comm.Allreduce(residual.sum((0, 1, 2)), total, MPI.SUM)
        return total

    def iterate(self) -> Field:
        """All steps; the last residual."""
        residual = self.rhs()
        for _ in range(self.args.steps):
            self.lower(residual)
            self.upper(residual)
            self.u = (self.u + OMEGA * residual) % PRIME
            residual = self.rhs()
        return residual

    def remaining(self, field: Field) -> Field:
        """What is left of the field when every step has taken its share of it away."""
        return (field.astype(np.int64) * pow(1 - OMEGA, self.args.steps, PRIME) % PRIME).astype(float)


def main() -> int:
    args = workload.parse(workload.parser("SSOR with pipelined wavefronts", size=12, steps=100))
    world = MPI.COMM_WORLD
    if args.size < max(MPI.Compute_dims(world.size, 2)):
        return workload.refuse("lu", "--size must be at least the number of rows and columns of ranks")
    parameters = np.array([args.size, args.steps])
    world.Bcast(parameters)
    args.size, args.steps = parameters.tolist()
    state = Ssor(args)
    world.Barrier()
    residual = state.iterate()
    good = np.array_equal(state.u, (state.solution - state.remaining(state.solution)) % PRIME)
    good &= np.array_equal(state.norm(residual), state.norm(state.remaining(state.source)))
    return workload.finish("lu", args, good)


if __name__ == "__main__":
    sys.exit(main())
