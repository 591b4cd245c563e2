"""A bit of everything, the same in each run: what a selection leaves can be picked from the whole log."""

import sys

import numpy as np
from mpi4py import MPI

FOLDER = sys.argv[1]
STEPS = 3

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size
dup = world.Dup()
halo = world.Split(rank % 2, rank)
halo.Set_name("halo")
cart = world.Create_cart([size], [True])


def buffers(n: int) -> list[np.ndarray]:
    return [np.zeros(64 << (2 * i), "d") for i in range(n)]


def exchange(comm: MPI.Comm) -> None:
    """Requests of three sizes, completed together."""
    out, into = buffers(3), buffers(3)
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    requests = [comm.Irecv(b, source, tag=i) for i, b in enumerate(into)]
    requests += [comm.Isend(b, to, tag=i) for i, b in enumerate(out)]
    MPI.Request.Waitall(requests[1:])
    requests[0].Wait()


def one_by_one() -> None:
    """Completed newest first; any and some take what is there."""
    out, into = buffers(3), buffers(3)
    requests = [MPI.COMM_SELF.Irecv(b, 0, tag=i) for i, b in enumerate(into)]
    for i, b in enumerate(out):
        MPI.COMM_SELF.Send(b, 0, tag=i)
    small, medium, large = requests
    MPI.Request.Waitany([MPI.REQUEST_NULL, medium])
    MPI.Request.Waitsome([large])
    small.Wait()
    keep = [world.Ibarrier(), dup.Ibarrier()]
    MPI.Request.Waitall(keep)


def persistent() -> None:
    out, into = buffers(2), buffers(2)
    made = [world.Recv_init(b, left, tag=i) for i, b in enumerate(into)]
    made += [world.Send_init(b, right, tag=i) for i, b in enumerate(out)]
    for _ in range(2):
        MPI.Prequest.Startall(made)
        MPI.Request.Waitall(made)
    made[0].Start()
    made[2].Start()
    made[0].Wait()
    made[2].Wait()
    for request in made:
        request.Free()


def collectives(comm: MPI.Comm) -> None:
    for data in buffers(3):
        comm.Bcast(data, 0)
        comm.Allreduce(MPI.IN_PLACE, data)
    comm.Gather(np.zeros(16), np.zeros(16 * comm.size) if comm.rank == 0 else None, 0)
    counts = [8 * (i + 1) for i in range(comm.size)]
    mine = counts[comm.rank]
    comm.Alltoallv([np.zeros(sum(counts)), counts], [np.zeros(mine * comm.size), [mine] * comm.size])
    comm.Reduce_scatter(np.zeros(sum(counts)), np.zeros(mine), counts)
    comm.Barrier()


def windows() -> None:
    for n, comm in ((100, world), (1000, halo)):
        window = MPI.Win.Create(np.zeros(n), comm=comm)
        window.Fence()
        window.Put(np.zeros(n // 2), (comm.rank + 1) % comm.size)
        window.Fence()
        window.Free()


def files() -> None:
    file = MPI.File.Open(world, f"{FOLDER}/data", MPI.MODE_CREATE | MPI.MODE_RDWR)
    for n in (10, 1000):
        file.Write_at(rank * 8000, np.zeros(n))
        data = np.zeros(n)
        file.Write_at_all_begin(rank * 8000, data)
        file.Write_at_all_end(data)
    file.Close()


for step in range(STEPS):
    for comm in (world, halo, cart):
        exchange(comm)
    one_by_one()
    world.send({"step": step, "of": "x" * 50 * step}, right)
    world.recv(source=left)
    world.Sendrecv(np.zeros(step), right, recvbuf=np.zeros(500), source=left)
    persistent()
    collectives(world)
    collectives(halo)
    copy = halo.Dup()
    copy.Bcast(np.zeros(step + 1), 0)
    copy.Free()
    cart.Neighbor_alltoall(np.zeros(2), np.zeros(2))
windows()
files()
