"""Figure 5.4 of the ScalaTrace dissertation: ranks whose loops differ, but whose events match.

    mpiexec -n 2 scalatrace record -o fig5_4.st -- python samples/fig5_4.py

Size: an even number of ranks works in pairs (an odd one's last rank idles); always six exchanges.
Expect: "correct" and status 0, and the five events of Figure 5.5: Isend and Irecv of both ranks (five times
on the even rank, six times on the odd one), the even rank's last Isend and Irecv, and the Waitall of both
(once for twelve requests on the even rank, six times for two on the odd one).

In the figure the ranks run different programs with equal stack signatures where lines have equal numbers;
here both ranks run the same lines, and only the even rank's last pair comes from other lines.
"""

import sys

import numpy as np
from mpi4py import MPI

EXCHANGES = 6


def exchange(comm: MPI.Comm, peer: int, even: bool, incoming: np.ndarray) -> None:
    """Six exchanges; the even rank waits for all of them at the end, the odd one for each."""
    outgoing = np.arange(EXCHANGES) + 100 * comm.rank
    requests: list[MPI.Request] = []
    for i in range(EXCHANGES):
        last = i == EXCHANGES - 1
        if even and last:
            requests.append(comm.Isend(outgoing[i : i + 1], peer))  # line 5
            requests.append(comm.Irecv(incoming[i : i + 1], peer))  # line 6
        else:
            requests.append(comm.Isend(outgoing[i : i + 1], peer))  # line 2
            requests.append(comm.Irecv(incoming[i : i + 1], peer))  # line 3
        if last or not even:
            MPI.Request.Waitall(requests)  # line 4 of the odd rank, 7 of the even one
            requests = []


def main() -> int:
    comm = MPI.COMM_WORLD
    peer = comm.rank ^ 1
    if peer >= comm.size:
        return 0
    incoming = np.full(EXCHANGES, -1)
    exchange(comm, peer, comm.rank % 2 == 0, incoming)
    good = incoming.tolist() == [100 * peer + i for i in range(EXCHANGES)]
    if comm.rank == 0 or not good:
        print(f"Figure 5.4 on {comm.size} ranks:", "correct" if good else f"WRONG on rank {comm.rank}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
