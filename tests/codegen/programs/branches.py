"""The root makes its collective calls in its own branch."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
data, total = np.zeros(4), np.zeros(4)
for step in range(20):
    if comm.rank == 0:
        data[:] = step
        comm.Bcast(data, 0)
        comm.Reduce(data, total, root=0)
    else:
        comm.Bcast(data, 0)
        data += comm.rank
        comm.Reduce(data, None, root=0)
    comm.Barrier()
assert comm.rank or total[0] == 4 * 19 + 6
