"""Call MPI_Allreduce or MPI_Allgather with some numbers of bytes; rank 0 prints what became of each call."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
for nbytes in map(int, sys.argv[2:]):
    sent, received = np.zeros(nbytes // 8), np.zeros(nbytes // 8 * comm.size)
    try:
        if sys.argv[1] == "allreduce":
            comm.Allreduce(sent, received[: nbytes // 8])
        else:
            comm.Allgather(sent, received)
        outcome = "ok"
    except MPI.Exception:
        outcome = "error"
    if comm.rank == 0:
        print(nbytes, outcome, flush=True)
