"""Figure 2.1 of the ScalaTrace dissertation: the four-point stencil of its example of RSDs and PRSDs.

    mpiexec -n 16 scalatrace record -o fig2_1.st -- python samples/fig2_1.py

Size: any number of ranks; --steps iterations (1000).
Expect: "correct" and status 0, and a trace with a single PRSD: 1000 times (4 times (Irecv, Isend), Waitall).
The ranks form a helix (north is `width` ranks before, modulo the number of ranks), so that the neighbours
are the same relative to every rank and one PRSD is enough for all of them.
"""

import argparse
import sys

import numpy as np
from mpi4py import MPI


def main() -> int:
    parser = argparse.ArgumentParser(description="Figure 2.1")
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    width = MPI.Compute_dims(size, 2)[1]
    # An opposite pair stands at j and j ^ 3: what is sent with tag j arrives from the neighbour at j ^ 3.
    neighbors = [(rank + step) % size for step in (-width, -1, 1, width)]
    incoming = np.zeros((4, 1), dtype=np.int64)
    good = True
    for i in range(args.steps):
        outgoing = np.array([rank + i])
        requests = []
        for j in range(4):
            requests.append(comm.Irecv(incoming[j], neighbors[j], j ^ 3))
            requests.append(comm.Isend(outgoing, neighbors[j], j))
        MPI.Request.Waitall(requests)
        good = good and incoming[:, 0].tolist() == [n + i for n in neighbors]
    if rank == 0 or not good:
        verdict = "correct" if good else f"WRONG on rank {rank}"
        print(f"Figure 2.1 on {size} ranks, {args.steps} steps: {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
