"""Conjugate gradient on a grid of ranks: the communication of NPB CG.

    mpiexec -n 16 scalatrace record -o cg.st -- python samples/npb/cg.py --steps 100

Size: a power of two of ranks, on a grid of as many columns as rows or twice as many; --size rows of the
matrix per column of the grid (16), --steps outer steps of inverse iteration (50), each of 5 CG iterations.
Expect: "correct" and status 0: every step solves its system and the eigenvalue estimates converge.
All messages are Irecv, Send and Wait. A product of matrix and vector sums along the row with log2(columns)
partners whose distance doubles from 1, then swaps with the rank on the other side of the diagonal
(a rank on the diagonal with itself); a dot product sums along the row with the same partners in the
opposite order. Every step makes the same calls: the trace has the same size for any number of steps.
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import workload

CG_ITERATIONS = 5
# The spectrum of the matrix: 1 once, the others in turn. CG_ITERATIONS different eigenvalues in all, so that
# this many iterations solve every system; the second smallest decides how fast the estimates converge.
SMALLEST = 1.0
OTHERS = (2.0, 2.5, 3.0, 4.0)
TAG = 1


class Grid:
    """The grid of ranks, this rank's place in it and the partners with whom it exchanges."""

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = comm
        self.rows = 1 << (comm.size.bit_length() - 1) // 2
        self.columns = comm.size // self.rows
        self.row, self.column = divmod(comm.rank, self.columns)
        stages = self.columns.bit_length() - 1
        first = self.row * self.columns
        self.near_to_far = [first + (self.column ^ (1 << stage)) for stage in range(stages)]
        self.far_to_near = self.near_to_far[::-1]
        # A row's part of a vector is one or two columns' parts: which of them this rank keeps.
        self.parts = self.columns // self.rows
        self.part = self.column % self.parts
        self.opposite = self.column // self.parts * self.columns + self.row * self.parts + self.part

    def exchange(self, mine: np.ndarray, rank: int) -> np.ndarray:
        """Give `mine` to a rank and return what it gives, which has the same length."""
        theirs = np.empty_like(mine)
        request = self.comm.Irecv(theirs, rank, TAG)
        self.comm.Send(mine, rank, TAG)
        request.Wait()
        return theirs

    def row_sum(self, mine: np.ndarray, partners: list[int]) -> np.ndarray:
        """The sum over the ranks of this row; all of them get the same bits."""
        for rank in partners:
            mine = mine + self.exchange(mine, rank)
        return mine

    def transpose(self, by_row: np.ndarray) -> np.ndarray:
        """From this row's part of a vector to this column's."""
        mine = by_row.reshape(self.parts, -1)[self.part]
        if self.comm.size == 1:
            return mine
        return self.exchange(mine, self.opposite)

    def dot(self, *pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The dot products of pairs of vectors that are divided over the columns."""
        mine = np.array([x @ y for x, y in pairs])
        return self.row_sum(mine, self.far_to_near)


def matrix_block(grid: Grid, size: int) -> np.ndarray:
    """This rank's block of Q D Q, where D is the spectrum and Q = I - 2/n mirrors at the vector of ones."""
    n = size * grid.columns
    spectrum = np.resize(OTHERS, n)
    spectrum[0] = SMALLEST
    whole = np.diag(spectrum) - 2 / n * np.add.outer(spectrum, spectrum) + 4 / n * spectrum.mean()
    height = size * grid.parts
    return whole[grid.row * height :][:height, grid.column * size :][:, :size].copy()


def ratio(numerator: float, denominator: float) -> float:
    """The quotient, or 0 when CG has nothing left to correct: it goes on all the same, as in NPB."""
    return numerator / denominator if denominator else 0.0


def conj_grad(grid: Grid, block: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Solve A z = x; z and the norm of x - A z."""

    def product(p: np.ndarray) -> np.ndarray:
        return grid.transpose(grid.row_sum(block @ p, grid.near_to_far))

    z, r, p = np.zeros_like(x), x, x
    rho = grid.dot((r, r))[0]
    for _ in range(CG_ITERATIONS):
        q = product(p)
        alpha = ratio(rho, grid.dot((p, q))[0])
        z, r = z + alpha * p, r - alpha * q
        before, rho = rho, grid.dot((r, r))[0]
        p = r + ratio(rho, before) * p
    rest = x - product(z)
    return z, float(np.sqrt(grid.dot((rest, rest))[0]))


def main() -> int:
    args = workload.parse(workload.parser("conjugate gradient on a grid of ranks, as NPB CG", 16, 50))
    if MPI.COMM_WORLD.size.bit_count() != 1:
        return workload.refuse("cg", "the number of ranks must be a power of two")
    grid = Grid(MPI.COMM_WORLD)
    block = matrix_block(grid, args.size)
    n = args.size * grid.columns
    x = np.full(args.size, n**-0.5)
    # Squared tangent of the angle between x and the wanted eigenvector: it bounds the estimate's error.
    tangent2 = float(n - 1)
    good = True
    for _ in range(args.steps):
        workload.compute(args)
        z, residual = conj_grad(grid, block, x)
        xz, zz = grid.dot((x, z), (z, z))
        good &= residual < 1e-10 and abs(1 / xz - SMALLEST) < SMALLEST * tangent2 + 1e-10
        tangent2 *= (SMALLEST / min(OTHERS)) ** 2
        x = z / np.sqrt(zz)
    return workload.finish("cg", args, good)


if __name__ == "__main__":
    sys.exit(main())
