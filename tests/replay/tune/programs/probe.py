"""Call MPI_Allreduce or MPI_Allgather with some numbers of bytes; rank 0 writes what became of each call.

To a file: launchers may lose what a rank has printed before it aborts.
"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
for nbytes in map(int, sys.argv[3:]):
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
        with open(sys.argv[2], "a") as file:
            print(nbytes, outcome, file=file)
