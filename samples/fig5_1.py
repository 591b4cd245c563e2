"""Figure 5.1 of the ScalaTrace dissertation: a loop with iteration-specific behaviour.

    mpiexec -n 4 scalatrace record -o fig5_1.st -- python samples/fig5_1.py

Size: any number of ranks; always two iterations.
Expect: "correct" and status 0. The loop's four events become E1(4,2) E2(1,1 0) E3(1,0 1) E4: a PRSD of two
iterations in which the Isend has repeat 1 0 and the Irecv repeat 0 1. One Waitall after the loop completes
both.
"""

import sys

import numpy as np
from mpi4py import MPI


def main() -> int:
    comm = MPI.COMM_WORLD
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    outgoing, incoming = np.array([comm.rank]), np.array([-1])
    requests = []
    for i in range(2):
        comm.Barrier()  # E1
        if i == 0:
            requests.append(comm.Isend(outgoing, right))  # E2
        if i == 1:
            requests.append(comm.Irecv(incoming, left))  # E3
        comm.Barrier()  # E4
    MPI.Request.Waitall(requests)
    good = incoming[0] == left
    if comm.rank == 0 or not good:
        print(f"Figure 5.1 on {comm.size} ranks:", "correct" if good else f"WRONG on rank {comm.rank}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
