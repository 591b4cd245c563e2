"""Nonblocking collectives of all kinds, and a barrier that says that all messages have come."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
one, many = np.zeros(3), np.zeros(3 * size)

for step in range(4):
    request = comm.Iallreduce(np.ones(3), one)
    comm.Sendrecv(one, (rank + 1) % size, step, many, (rank - 1) % size, step)
    request.Wait()
    requests = [comm.Ibcast(one, root=step % size), comm.Ireduce(one, np.zeros(3), root=0)]
    MPI.Request.Waitall(requests)
    comm.Iallgather(one, many).Wait()
    comm.Ialltoall(many, np.zeros(3 * size)).Wait()
    comm.Igather(one, many if rank == 0 else None, root=0).Wait()
    comm.Iscatter(many if rank == 1 else None, one, root=1).Wait()
    comm.Iscan(one, np.zeros(3)).Wait()

# Rank 1 comes to the barrier when it has a message that rank 0 sends after the barrier's start.
for _ in range(3):
    if rank == 1:
        comm.Recv(one, source=0)
    barrier = comm.Ibarrier()
    if rank == 0:
        comm.Send(one, dest=1)
    barrier.Wait()
