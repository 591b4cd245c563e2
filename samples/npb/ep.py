"""Normally distributed random numbers with the communication of NPB EP: none before the sums at the end.

    mpiexec -n 16 scalatrace record -o ep.st -- python samples/npb/ep.py

Size: any number of ranks; --size pairs of numbers per block (256), --steps blocks per rank (100).
Expect: "correct" and status 0. A rank makes its blocks of one sequence of pseudo-random numbers, turns them
into normally distributed ones and counts them by size; three Allreduce then add the sums of both
coordinates and the counts of all ranks. The trace has the same size for any number of steps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workload

# x[k+1] = a x[k] mod 2^46
MULTIPLIER, SEED, BITS = 5**13, 271828183, 46
RINGS = 10


def uniform(start: int, count: int) -> np.ndarray:
    """`count` numbers between -1 and 1 of the sequence, from number `start` on."""
    first = SEED * pow(MULTIPLIER, start, 2**BITS) % 2**BITS
    factors = np.full(count, MULTIPLIER, np.uint64)
    factors[0] = first
    # What overflows 64 bits does not matter to the lower 46.
    states = np.multiply.accumulate(factors) & np.uint64(2**BITS - 1)
    return 2 * (states / 2.0**BITS) - 1


class Sums:
    """Sums of both coordinates of the pairs, and how many pairs are how far out."""

    def __init__(self) -> None:
        self.x, self.y, self.counts = np.zeros(1), np.zeros(1), np.zeros(RINGS)

    def add(self, start: int, pairs: int) -> None:
        """Add the pairs that are made of 2 * pairs numbers of the sequence (polar method)."""
        x, y = uniform(start, 2 * pairs).reshape(-1, 2).T
        t = x * x + y * y
        keep = t <= 1
        scale = np.sqrt(-2 * np.log(t[keep]) / t[keep])
        x, y = x[keep] * scale, y[keep] * scale
        self.x += x.sum()
        self.y += y.sum()
        ring = np.maximum(np.abs(x), np.abs(y)).astype(int)
        self.counts += np.bincount(ring, minlength=RINGS)

    def total(self, comm: MPI.Comm) -> Sums:
        """Over all ranks."""
        everybody = Sums()
        comm.Allreduce(self.x, everybody.x, MPI.SUM)
        comm.Allreduce(self.y, everybody.y, MPI.SUM)
        comm.Allreduce(self.counts, everybody.counts, MPI.SUM)
        return everybody

    def agrees(self, other: Sums) -> bool:
        """Equal but for the order in which the coordinates were added."""
        near = np.allclose([self.x, self.y], [other.x, other.y], rtol=1e-9, atol=1e-9)
        return near and np.array_equal(self.counts, other.counts)


def pieces(pairs: int) -> Iterator[tuple[int, int]]:
    """The whole sequence in a few large pieces, independent of the ranks."""
    for first in range(0, pairs, 2**16):
        yield 2 * first, min(2**16, pairs - first)


def serial(args: argparse.Namespace, ranks: int) -> Sums:
    """The same sums made by one rank."""
    sums = Sums()
    for start, pairs in pieces(args.size * args.steps * ranks):
        sums.add(start, pairs)
    return sums


def main() -> int:
    args = workload.parse(workload.parser("sums of random numbers", size=256, steps=100))
    world = MPI.COMM_WORLD
    sums = Sums()
    for block in range(world.rank * args.steps, (world.rank + 1) * args.steps):
        workload.compute(args)
        sums.add(2 * args.size * block, args.size)
    everybody = sums.total(world)
    # One rank suffices to do it all over again.
    good = world.rank != 0 or everybody.agrees(serial(args, world.size))
    return workload.finish("ep", args, good)


if __name__ == "__main__":
    sys.exit(main())
