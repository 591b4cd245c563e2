"""Matrix times vector on a grid of ranks with a communicator per row and per column.

    mpiexec -n 6 scalatrace record -o subcomms.st -- python samples/subcomms.py --cart

Size: any number of ranks; --size rows of the matrix per rank (4), --steps multiplications (20).
Expect: "correct" and status 0. Every step is a sum along the row and a gathering along the column. The rows
are one family of communicators in the trace, the columns another; made by Comm_split, or with --cart
by Cart_sub.
"""

import argparse
import sys

import numpy as np
from mpi4py import MPI


def grid(cart: bool) -> tuple[MPI.Comm, MPI.Comm]:
    """The communicators of this rank's row and of its column."""
    world = MPI.COMM_WORLD
    dims = MPI.Compute_dims(world.size, 2)
    if cart:
        both = world.Create_cart(dims)
        return both.Sub([False, True]), both.Sub([True, False])
    row, column = divmod(world.rank, dims[1])
    return world.Split(row, column), world.Split(column, row)


def block(vector: np.ndarray, comm: MPI.Comm) -> np.ndarray:
    """This rank's part of a vector that is divided evenly over `comm`."""
    n = len(vector) // comm.size
    return vector[comm.rank * n : (comm.rank + 1) * n]


def power_iteration(row: MPI.Comm, column: MPI.Comm, direction: np.ndarray, steps: int) -> np.ndarray:
    """The vector after `steps` normalised multiplications with I + v v^T, v being `direction`.

    A rank holds the block of the matrix where its row's part of the result meets its column's part
    of the input.
    """
    mine = np.outer(block(direction, column), block(direction, row))
    x = np.ones(len(direction)) / np.sqrt(len(direction))
    for _ in range(steps):
        part = mine @ block(x, row)
        total = np.empty_like(part)
        row.Allreduce(part, total, MPI.SUM)
        product = np.empty_like(x)
        column.Allgather(total, product)
        x = x + product
        x /= np.linalg.norm(x)
    return x


def main() -> int:
    parser = argparse.ArgumentParser(description="rows and columns of a matrix")
    parser.add_argument("--cart", action="store_true", help="make the communicators with Cart_sub")
    parser.add_argument("--size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    world = MPI.COMM_WORLD
    row, column = grid(args.cart)
    direction = np.linspace(1, 2, args.size * world.size)
    x = power_iteration(row, column, direction, args.steps)
    # I + v v^T multiplies v by 1 + |v|^2 and everything across v by 1: what is across shrinks by that factor.
    along = direction / np.linalg.norm(direction)
    across = np.linalg.norm(x - along * (along @ x))
    good = across <= (1 + direction @ direction) ** -float(args.steps) + 1e-12
    good = world.allreduce(bool(good), op=MPI.LAND)
    row.Free()
    column.Free()
    if world.rank == 0:
        print(f"matrix on {world.size} ranks, {args.steps} steps:", "correct" if good else "WRONG")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
