"""Two ranks and small messages: python pair.py pingpong|stream|exchange N."""

import argparse

from mpi4py import MPI

parser = argparse.ArgumentParser()
parser.add_argument("pattern", choices=("pingpong", "stream", "exchange"))
parser.add_argument("messages", type=int)
args = parser.parse_args()
comm, n = MPI.COMM_WORLD, args.messages
other = 1 - comm.rank
there, back = bytearray(8), bytearray(8)
for _ in range(n):
    if args.pattern == "exchange":
        MPI.Request.Waitall([comm.Irecv(back, other), comm.Isend(there, other)])
    elif comm.rank == 0:
        comm.Send(there, other)
        if args.pattern == "pingpong":
            comm.Recv(back, other)
    else:
        comm.Recv(back, other)
        if args.pattern == "pingpong":
            comm.Send(there, other)
