"""Two ranks and small messages: python pair.py pingpong|stream|exchange N."""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
other, n = 1 - comm.rank, int(sys.argv[2])
there, back = bytearray(8), bytearray(8)
for _ in range(n):
    if sys.argv[1] == "exchange":
        MPI.Request.Waitall([comm.Irecv(back, other), comm.Isend(there, other)])
    elif comm.rank == 0:
        comm.Send(there, other)
        if sys.argv[1] == "pingpong":
            comm.Recv(back, other)
    else:
        comm.Recv(back, other)
        if sys.argv[1] == "pingpong":
            comm.Send(there, other)
