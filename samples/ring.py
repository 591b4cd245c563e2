"""A token goes round all ranks.

    mpiexec -n 8 scalatrace record -o ring.st -- python samples/ring.py --rounds 100

Size: any number of ranks; --rounds times round the ring (10).
Expect: "correct" and status 0. Rank 0 sends, then receives; the others receive, then send: two loops
that differ, each of two events, whose peers are the left and the right neighbour on all ranks.
"""

import argparse
import sys

import numpy as np
from mpi4py import MPI


def pass_on(comm: MPI.Comm, token: np.ndarray) -> None:
    """One round: every rank adds its number to the token."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.size == 1:
        comm.Sendrecv_replace(token, right, 0, left, 0)
    elif comm.rank == 0:
        comm.Send(token, right)
        comm.Recv(token, left)
    else:
        comm.Recv(token, left)
        token[0] += comm.rank
        comm.Send(token, right)


def main() -> int:
    parser = argparse.ArgumentParser(description="a token goes round all ranks")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    token = np.zeros(1, dtype=np.int64)
    for _ in range(args.rounds):
        pass_on(comm, token)
    if comm.rank != 0:
        return 0
    good = token[0] == args.rounds * comm.size * (comm.size - 1) // 2
    print(f"ring of {comm.size} ranks, {args.rounds} rounds:", "correct" if good else "WRONG")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
