"""Persistent requests: made once, started in every step.

    mpiexec -n 8 scalatrace record -o persistent.st -- python samples/persistent.py --steps 1000

Size: any number of ranks; --size points per rank (16), --steps time steps (100).
Expect: "correct" and status 0. Four Send_init and Recv_init calls before the loop, one Startall and one
Waitall per step, four Request_free calls after it. A wave diffuses on a ring; its decay is known exactly.
"""

import argparse
import math
import sys

import numpy as np
from mpi4py import MPI


def diffuse(comm: MPI.Comm, u: np.ndarray, steps: int) -> None:
    """Replace every point by the mean of its neighbours and itself (1:1:2), `steps` times.

    `u` has one ghost point at either end; on a ring the last point's right neighbour is the first.
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    requests = [
        comm.Recv_init(u[:1], left, 0),
        comm.Recv_init(u[-1:], right, 1),
        comm.Send_init(u[-2:-1], right, 0),
        comm.Send_init(u[1:2], left, 1),
    ]
    for _ in range(steps):
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        u[1:-1] = (u[:-2] + 2 * u[1:-1] + u[2:]) / 4
    for request in requests:
        request.Free()


def main() -> int:
    parser = argparse.ArgumentParser(description="diffusion on a ring with persistent requests")
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    wave_number = 2 * math.pi / (args.size * comm.size)
    x = comm.rank * args.size + np.arange(-1, args.size + 1)
    u = np.cos(wave_number * x)
    diffuse(comm, u, args.steps)
    decay = ((1 + math.cos(wave_number)) / 2) ** args.steps
    good = np.allclose(u[1:-1], decay * np.cos(wave_number * x[1:-1]), rtol=0, atol=1e-12)
    good = comm.allreduce(bool(good), op=MPI.LAND)
    if comm.rank == 0:
        print(f"diffusion on {comm.size} ranks, {args.steps} steps:", "correct" if good else "WRONG")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
