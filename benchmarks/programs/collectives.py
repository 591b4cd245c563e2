"""Programs that mostly call collectives: `python collectives.py KIND --steps N`.

solver     two Allreduces of 16 doubles (dot products of a block of vectors) per step
training   an Allreduce of 64 Ki doubles (gradients) and one of a number (loss) per step
tables     a Bcast of 64 kB and of a number, a Scatter and a Gather of 4 kB for each rank per step
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI

PRODUCTS, GRADIENTS, TABLE, ROWS = 16, 1 << 16, 1 << 13, 1 << 9


def solver(comm: MPI.Intracomm) -> None:
    """One step of a block Krylov method: its products of vectors, without the vectors."""
    own, whole = np.full(PRODUCTS, comm.rank + 1.0), np.empty(PRODUCTS)
    comm.Allreduce(own, whole)
    comm.Allreduce(whole, own)


def training(comm: MPI.Intracomm) -> None:
    """One step of data-parallel training."""
    gradients = np.full(GRADIENTS, comm.rank + 1.0)
    whole, loss = np.empty_like(gradients), np.ones(1)
    comm.Allreduce(gradients, whole)
    comm.Allreduce(whole[:1] / comm.size, loss)


def tables(comm: MPI.Intracomm) -> None:
    """One step in which rank 0 hands out tables and work, and collects results."""
    is_root = comm.rank == 0
    table, count = np.ones(TABLE), np.ones(1)
    rows = np.ones(ROWS * comm.size) if is_root else None
    own = np.empty(ROWS)
    comm.Bcast(count)
    comm.Bcast(table)
    comm.Scatter(rows, own)
    comm.Gather(own * table[:ROWS], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["solver", "training", "tables"])
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    step = {"solver": solver, "training": training, "tables": tables}[args.kind]
    for _ in range(args.steps):
        step(MPI.COMM_WORLD)
