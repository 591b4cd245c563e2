"""Two ranks and small messages: python pair.py pingpong|stream|exchange N [--compute-us 20]."""

import argparse
import time

from mpi4py import MPI

parser = argparse.ArgumentParser()
parser.add_argument("pattern", choices=("pingpong", "stream", "exchange"))
parser.add_argument("messages", type=int)
parser.add_argument("--compute-us", type=float, default=0, help="before each call")
args = parser.parse_args()


def compute() -> None:
    """Be busy for so long."""
    if args.compute_us:
        end = time.perf_counter() + 1e-6 * args.compute_us
        while time.perf_counter() < end:
            pass


comm, n = MPI.COMM_WORLD, args.messages
other = 1 - comm.rank
there, back = bytearray(8), bytearray(8)
for _ in range(n):
    if args.pattern == "exchange":
        compute()
        receive = comm.Irecv(back, other)
        compute()
        send = comm.Isend(there, other)
        compute()
        MPI.Request.Waitall([receive, send])
    else:
        for sends in (comm.rank == 0, comm.rank == 1)[: 2 if args.pattern == "pingpong" else 1]:
            compute()
            if sends:
                comm.Send(there, other)
            else:
                comm.Recv(back, other)
