"""Scalar-pentadiagonal solver with the communication of NPB SP: multi-partition, line sweeps in x, y and z.

    mpiexec -n 16 scalatrace record -o sp.st -- python samples/npb/sp.py --steps 400

Size: a square number of ranks; --size points per dimension of the whole grid (17), at least twice the square
root of the number of ranks; --steps time steps (100).
Expect: "correct" and status 0. Per step and rank one exchange of faces, two layers deep, with 6 partners
(Irecv, Isend, Waitall) and per direction a sweep forward and one back over the rank's cells, each cell
handing its edge to the next rank (Irecv, Waitall, Isend). A sweep's messages are as large as the cell at
hand: where --size cannot be divided evenly that differs from stage to stage and from rank to rank. The
trace has the same size for any number of steps.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from multipartition import COMPONENTS, DT, FORWARD, Adi, run

import workload

# Three components share one matrix, the fourth and the fifth have their own.
DIFFUSION = np.array([1.0, 1.25, 0.75])
MATRIX_OF = [0, 0, 0, 1, 2]
# A row of the eliminated equations: x[i] + first x[i+1] + second x[i+2] = right.
FIRST, SECOND, RIGHT = slice(0, 3), slice(3, 6), slice(6, 6 + COMPONENTS)


class ScalarPentadiagonal(Adi):
    """Second and fourth differences along every direction, the components not coupled."""

    depth = 2
    coupling = np.diag(DIFFUSION[MATRIX_OF])
    damping = 0.05
    far = DT * damping
    near = -DT * DIFFUSION - 4 * far
    diagonal = 1 + 2 * DT * DIFFUSION + 6 * far

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.eliminated: dict[int, np.ndarray] = {}

    def edge_shape(self, way: int, lines: tuple[int, int]) -> tuple[int, ...]:
        """Two rows per grid line: forward of the equations, backward of the solution."""
        return (2, *lines, RIGHT.stop if way == FORWARD else COMPONENTS)

    def tag(self, c: int, axis: int, way: int) -> int:
        return 0

    def complete(self, sending: MPI.Request, receiving: MPI.Request) -> None:
        MPI.Request.Waitall([sending, receiving])

    def diagonals(self, c: int, axis: int) -> np.ndarray:
        """The diagonal of each row; next to a wall a fourth difference has 5 there instead of 6."""
        values = np.tile(self.diagonal, (self.part.sizes[c][axis], 1))
        values[0] -= self.far * (c == self.part.order[axis][0])
        values[-1] -= self.far * (c == self.part.order[axis][-1])
        return values

    def eliminate(self, c: int, axis: int, edge: np.ndarray) -> np.ndarray:
        """Make the equations upper triangular, going on from the two rows before the cell."""
        rows = np.moveaxis(self.rhs[c], axis, 0)
        done = np.concatenate([edge, np.empty((*rows.shape[:3], RIGHT.stop))])
        for i, (right, diagonal) in enumerate(zip(rows, self.diagonals(c, axis), strict=True)):
            second, first, row = done[i], done[i + 1], done[i + 2]
            low = self.near - self.far * second[..., FIRST]
            pivot = diagonal - self.far * second[..., SECOND] - low * first[..., FIRST]
            row[..., FIRST] = (self.near - low * first[..., SECOND]) / pivot
            row[..., SECOND] = self.far / pivot
            right = right - self.far * second[..., RIGHT] - low[..., MATRIX_OF] * first[..., RIGHT]
            row[..., RIGHT] = right / pivot[..., MATRIX_OF]
        self.eliminated[c] = done[2:]
        return done[-2:]

    def substitute(self, c: int, axis: int, edge: np.ndarray) -> np.ndarray:
        """Solve the rows from the last to the first; the solution takes the place of the right-hand side."""
        rows = np.moveaxis(self.rhs[c], axis, 0)
        first, second = edge
        for solution, row in zip(rows[::-1], self.eliminated[c][::-1], strict=True):
            known = row[..., FIRST][..., MATRIX_OF] * first + row[..., SECOND][..., MATRIX_OF] * second
            solution[...] = row[..., RIGHT] - known
            first, second = solution, first
        return np.array([first, second])


def main() -> int:
    parser = workload.parser("scalar-pentadiagonal solver, multi-partition", size=17, steps=100)
    return run("sp", workload.parse(parser), ScalarPentadiagonal)


if __name__ == "__main__":
    sys.exit(main())
