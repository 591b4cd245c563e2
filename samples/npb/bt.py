"""Block-tridiagonal solver with the communication of NPB BT: multi-partition, line sweeps in x, y and z.

    mpiexec -n 16 scalatrace record -o bt.st -- python samples/npb/bt.py --steps 200

Size: a square number of ranks; --size points per dimension of the whole grid (13), at least the square root
of the number of ranks; --steps time steps (100).
Expect: "correct" and status 0. Per step and rank one exchange of faces with 6 partners (Irecv, Isend,
Waitall) and per direction a sweep forward and one back over the rank's cells, each cell handing its edge
to the next rank (Irecv, two Wait, Isend). As in the original a sweep's messages have room for the largest
cell, so all have one size, and their tags tell the cells apart; with --trim they are as large as the cell
at hand, and where --size cannot be divided evenly that differs from stage to stage. The trace has the
same size for any number of steps.
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


class BlockTridiagonal(Adi):
    """Second differences along every direction, the five components coupled by a full matrix."""

    coupling = np.eye(COMPONENTS) + 0.1 * np.add.outer(np.arange(COMPONENTS), np.arange(COMPONENTS)) / 8
    off = -DT * coupling
    diagonal = np.eye(COMPONENTS) + 2 * DT * coupling

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.eliminated: dict[int, np.ndarray] = {}

    def edge_shape(self, way: int, lines: tuple[int, int]) -> tuple[int, ...]:
        """Forward a block and a right-hand side per grid line, backward a solution."""
        return (*lines, COMPONENTS, COMPONENTS + 1) if way == FORWARD else (*lines, COMPONENTS)

    def message_lines(self, c: int, axis: int) -> tuple[int, int]:
        return super().message_lines(c, axis) if self.args.trim else (self.part.widest, self.part.widest)

    def tag(self, c: int, axis: int, way: int) -> int:
        """Tells the direction and the line of cells."""
        first, second = (x for a, x in enumerate(self.part.coords[c]) if a != axis)
        return 1000 * (2 * axis + (2 if way == FORWARD else 3)) + first + second * len(self.part.coords)

    def complete(self, sending: MPI.Request, receiving: MPI.Request) -> None:
        sending.Wait()
        receiving.Wait()

    def eliminate(self, c: int, axis: int, edge: np.ndarray) -> np.ndarray:
        """Make the blocks upper triangular; a row is then x[i] + C[i] x[i+1] = r[i], kept as (C[i], r[i])."""
        rows = np.moveaxis(self.rhs[c], axis, 0)
        done = np.empty((*rows.shape, COMPONENTS + 1))
        done[..., :COMPONENTS] = self.off
        done[..., COMPONENTS] = rows
        for row in done:
            before = self.off @ edge
            row[..., COMPONENTS] -= before[..., COMPONENTS]
            edge = np.linalg.solve(self.diagonal - before[..., :COMPONENTS], row)
            row[...] = edge
        self.eliminated[c] = done
        return edge

    def substitute(self, c: int, axis: int, edge: np.ndarray) -> np.ndarray:
        """Solve the rows from the last to the first; the solution takes the place of the right-hand side."""
        rows = np.moveaxis(self.rhs[c], axis, 0)
        for solution, row in zip(rows[::-1], self.eliminated[c][::-1], strict=True):
            solution[...] = row[..., COMPONENTS] - (row[..., :COMPONENTS] @ edge[..., None])[..., 0]
            edge = solution
        return edge


def main() -> int:
    parser = workload.parser("block-tridiagonal solver, multi-partition", size=13, steps=100)
    parser.add_argument("--trim", action="store_true", help="send no more than the cell at hand needs")
    return run("bt", workload.parse(parser), BlockTridiagonal)


if __name__ == "__main__":
    sys.exit(main())
