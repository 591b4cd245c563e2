"""An open grid of ranks: one call site for four neighbours, MPI_PROC_NULL beyond it; `borders.py 3x4`."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
rows, columns = map(int, sys.argv[1].split("x"))
row, column = divmod(rank, columns)


def at(row: int, column: int) -> int:
    """The rank at a place of the grid."""
    inside = 0 <= row < rows and 0 <= column < columns
    return row * columns + column if inside else MPI.PROC_NULL


near = [at(row - 1, column), at(row + 1, column), at(row, column - 1), at(row, column + 1)]
out, into = np.zeros(8), [np.zeros(8) for _ in near]
for _ in range(3):
    requests = [comm.Irecv(into[k], source=peer, tag=k) for k, peer in enumerate(near)]
    requests += [comm.Isend(out, dest=peer, tag=k ^ 1) for k, peer in enumerate(near)]
    MPI.Request.Waitall(requests)
    for k, peer in enumerate(near):
        comm.Sendrecv(out, dest=peer, sendtag=9, recvbuf=into[k], source=peer, recvtag=9)

for step in range(6 if rows == 1 else 0):  # peers change over iterations and become PROC_NULL in some
    there = at(row, column + 1 + step % 2)
    back = at(row, column - 1 - step % 2)
    send = comm.Send_init(out, dest=there, tag=step)
    receive = comm.Recv_init(into[0], source=back, tag=step)
    MPI.Prequest.Startall([receive, send])
    MPI.Request.Waitall([receive, send])
    send.Free()
    receive.Free()
    request = comm.isend({"step": step}, dest=there)
    comm.recv(source=back, tag=MPI.ANY_TAG if step % 3 else 0)
    request.wait()
