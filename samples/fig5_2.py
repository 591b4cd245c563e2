"""Figure 5.2 of the ScalaTrace dissertation: an inner loop whose trip count changes (trailing iterations).

    mpiexec -n 4 scalatrace record -o fig5_2.st -- python samples/fig5_2.py --trips zigzag

Size: any number of ranks; --steps iterations of the outer loop (20), --trips how the inner trip count follows
from i: constant (4), growing (i), zigzag (1 2 3 1 2 3 ...).
Expect: "correct" and status 0, and a trace with one outer loop of Bcast and an inner loop whose repeat is the
trip counts; no inner iterations are left over beside it.
"""

import argparse
import sys

import numpy as np
from mpi4py import MPI

TRIPS = {
    "constant": lambda i: 4,
    "growing": lambda i: i,
    "zigzag": lambda i: 1 + i % 3,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Figure 5.2")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--trips", choices=sorted(TRIPS), default="growing")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    seed = np.zeros(1, dtype=np.int64)
    total, expected = 0, 0
    for i in range(args.steps):
        seed[0] = i if comm.rank == 0 else -1
        comm.Bcast(seed, 0)
        for j in range(TRIPS[args.trips](i)):
            outgoing, incoming = seed + comm.rank * j, np.zeros(1, dtype=np.int64)
            requests = [comm.Isend(outgoing, right), comm.Irecv(incoming, left)]
            MPI.Request.Waitall(requests)
            total += int(incoming[0])
            expected += i + left * j
    good = total == expected
    if comm.rank == 0 or not good:
        print(f"Figure 5.2 on {comm.size} ranks:", "correct" if good else f"WRONG on rank {comm.rank}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
