"""A program that makes the calls of a chapter of the MPI standard: `chapters.py CHAPTER` on 2 or more ranks.

Every call is deterministic, so that a replay of its trace, recorded again, must give an equal trace.
"""

import sys
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
RIGHT, LEFT = (RANK + 1) % SIZE, (RANK - 1) % SIZE
CHAPTERS: dict[str, Callable[[], None]] = {}


def chapter(function: Callable[[], None]) -> Callable[[], None]:
    CHAPTERS[function.__name__] = function
    return function


def doubles(n: int) -> np.ndarray:
    return np.arange(n, dtype="d")


def wide(room: np.ndarray) -> list[object]:
    """Three doubles for every rank, as the calls with a datatype for each rank want them."""
    return [room, [3] * SIZE, [24 * i for i in range(SIZE)], [MPI.DOUBLE] * SIZE]


@chapter
def p2p() -> None:
    there, back = doubles(10), doubles(10)
    for _ in range(3):
        WORLD.Sendrecv(there, RIGHT, 1, back, LEFT, 1)
        WORLD.Sendrecv_replace(back, RIGHT, 2, LEFT, MPI.ANY_TAG)
        for start in (WORLD.Isend, WORLD.Issend):
            request = start(there, RIGHT, 3)
            WORLD.Recv(back, LEFT, 3)
            request.Wait()
        request = WORLD.Irecv(back, LEFT, 8)
        WORLD.Ssend(there, RIGHT, 8)
        request.Wait()
        WORLD.Isendrecv(there, RIGHT, 9, back, LEFT, 9).Wait()
        WORLD.Isendrecv_replace(back, RIGHT, 10, LEFT, 10).Wait()
    MPI.Attach_buffer(bytearray(1 << 16))
    WORLD.Bsend(there, RIGHT, 4)
    request = WORLD.Ibsend(there, RIGHT, 5)
    WORLD.Recv(back, LEFT, 4)
    WORLD.Recv(back, LEFT, 5)
    request.Wait()
    MPI.Detach_buffer()
    receive = WORLD.Irecv(back, LEFT, 6)
    WORLD.Barrier()
    WORLD.Rsend(there, RIGHT, 6)
    receive.Wait()
    receive = WORLD.Irecv(back, LEFT, 6)
    WORLD.Barrier()
    WORLD.Irsend(there, RIGHT, 6).Wait()
    receive.Wait()
    WORLD.Send(there, MPI.PROC_NULL, 7)
    WORLD.Recv(back, MPI.PROC_NULL, 7)


@chapter
def completion() -> None:
    n = 6
    there, back = doubles(n), doubles(n)
    for finish in (finish_all, finish_some, finish_any, finish_one_by_one, finish_polling):
        receives = [WORLD.Irecv(back[i : i + 1], LEFT, i) for i in range(n)]
        WORLD.Barrier()
        sends = [WORLD.Isend(there[i : i + 1], RIGHT, i) for i in range(n)]
        finish(receives + sends)
    request = WORLD.Isend(there, RIGHT, 50)
    request.Free()
    WORLD.Recv(back, LEFT, 50)
    pending = WORLD.Irecv(back, LEFT, 51)
    pending.Cancel()
    pending.Wait()


def finish_all(requests: list[MPI.Request]) -> None:
    MPI.Request.Waitall(requests)


def finish_some(requests: list[MPI.Request]) -> None:
    while MPI.Request.Waitsome(requests) is not None:
        pass


def finish_any(requests: list[MPI.Request]) -> None:
    """In the order of the list, so that it is one order: the one that Waitany takes is complete alone."""
    for i in range(len(requests)):
        MPI.Request.Waitany(requests[i : i + 1])


def finish_one_by_one(requests: list[MPI.Request]) -> None:
    for request in requests:
        while not request.Get_status():
            pass
        while not request.Test():
            pass


def finish_polling(requests: list[MPI.Request]) -> None:
    while not MPI.Request.Testall(requests):
        pass


@chapter
def persistent() -> None:
    there, back = doubles(4), doubles(4)
    requests = [
        WORLD.Recv_init(back, LEFT, 1),
        WORLD.Send_init(there, RIGHT, 1),
        WORLD.Ssend_init(there, RIGHT, 2),
    ]
    for _ in range(3):
        MPI.Prequest.Startall(requests[:2])
        MPI.Request.Waitall(requests[:2])
        requests[2].Start()
        WORLD.Recv(back, LEFT, 2)
        requests[2].Wait()
    for request in requests:
        request.Free()
    MPI.Attach_buffer(bytearray(1 << 16))
    for make in (WORLD.Bsend_init, WORLD.Rsend_init):
        pair = [WORLD.Recv_init(back, LEFT, 3), make(there, RIGHT, 3)]
        for _ in range(2):
            pair[0].Start()
            WORLD.Barrier()
            pair[1].Start()
            MPI.Request.Waitall(pair)
        for request in pair:
            request.Free()
    MPI.Detach_buffer()


@chapter
def partitioned() -> None:
    there, back = doubles(12), doubles(12)
    send, receive = WORLD.Psend_init(there, 3, RIGHT, 1), WORLD.Precv_init(back, 3, LEFT, 1)
    for _ in range(2):
        MPI.Prequest.Startall([send, receive])
        send.Pready(0)
        send.Pready_range(1, 1)
        send.Pready_list([2])
        while not receive.Parrived(1):
            pass
        MPI.Request.Waitall([send, receive])
    send.Free()
    receive.Free()


@chapter
def probe() -> None:
    there, back = doubles(5), doubles(5)
    requests = [WORLD.Isend(there, RIGHT, tag) for tag in range(5)]
    WORLD.Probe(LEFT, 0)
    WORLD.Recv(back, LEFT, 0)
    while not WORLD.Iprobe(LEFT, 1):
        pass
    WORLD.Recv(back, LEFT, 1)
    first, second = WORLD.Mprobe(LEFT, 2), WORLD.Mprobe(LEFT, 3)
    second.Recv(back)
    first.Irecv(back).Wait()
    while (message := WORLD.Improbe(LEFT, 4)) is None:
        pass
    message.Recv(back)
    MPI.Request.Waitall(requests)
    WORLD.Mprobe(MPI.PROC_NULL).Recv(back)


@chapter
def collectives() -> None:
    one, many, other = doubles(3), doubles(3 * SIZE), doubles(3 * SIZE)
    for root in (0, SIZE - 1):
        WORLD.Bcast(one, root)
        WORLD.Reduce(one, doubles(3), MPI.SUM, root)
        WORLD.Gather(one, many if root == RANK else None, root)
        WORLD.Scatter(many if root == RANK else None, one, root)
        WORLD.Reduce(MPI.IN_PLACE if root == RANK else one, one, MPI.MAX, root)
        WORLD.Gather(MPI.IN_PLACE if root == RANK else one, many if root == RANK else None, root)
        WORLD.Scatter(many, MPI.IN_PLACE if root == RANK else one, root)
    WORLD.Allreduce(one, doubles(3), MPI.MIN)
    WORLD.Allreduce(MPI.IN_PLACE, one, MPI.PROD)
    WORLD.Allgather(one, many)
    WORLD.Allgather(MPI.IN_PLACE, many)
    WORLD.Alltoall(many, other)
    WORLD.Alltoall(MPI.IN_PLACE, many)
    WORLD.Scan(one, doubles(3))
    WORLD.Exscan(one, doubles(3))
    WORLD.Reduce_scatter_block(many, one)
    WORLD.Reduce_scatter(many, doubles(3), [3] * SIZE)
    WORLD.Reduce_scatter_block(MPI.IN_PLACE, many)
    mine = MPI.Op.Create(lambda a, b, t: None, commute=True)
    WORLD.Allreduce(one, doubles(3), mine)
    mine.Free()
    pair = np.zeros(1, dtype="i,i")
    WORLD.Allreduce([pair, 1, MPI.INT_INT], [pair.copy(), 1, MPI.INT_INT], MPI.MAXLOC)
    WORLD.Barrier()


@chapter
def vectors() -> None:
    counts = [i + 1 for i in range(SIZE)]
    displs = [sum(counts[:i]) + i for i in range(SIZE)]  # with holes
    room = doubles(displs[-1] + counts[-1])
    own = doubles(counts[RANK])
    for root in (0, SIZE - 1):
        spec = [room, counts, displs, MPI.DOUBLE] if root == RANK else None
        WORLD.Gatherv(own, spec, root)
        WORLD.Scatterv(spec, own, root)
    WORLD.Allgatherv(own, [room, counts, displs, MPI.DOUBLE])
    each = doubles((RANK + 1) * SIZE)
    WORLD.Alltoallv(
        [each, [RANK + 1] * SIZE, [i * (RANK + 1) for i in range(SIZE)], MPI.DOUBLE],
        [room, counts, displs, MPI.DOUBLE],
    )
    types = [MPI.INT if i % 2 else MPI.DOUBLE for i in range(SIZE)]
    mine = types[RANK]
    WORLD.Alltoallw(
        [bytearray(16 * SIZE), [1] * SIZE, [16 * i for i in range(SIZE)], types],
        [bytearray(16 * SIZE), [1] * SIZE, [16 * i for i in range(SIZE)], [mine] * SIZE],
    )


@chapter
def nonblocking() -> None:
    one, many, other = doubles(3), doubles(3 * SIZE), doubles(3 * SIZE)
    for _ in range(2):
        requests = [
            WORLD.Ibarrier(),
            WORLD.Ibcast(doubles(3), 0),
            WORLD.Ireduce(one, doubles(3), MPI.SUM, 0),
            WORLD.Iallreduce(one, doubles(3), MPI.SUM),
            WORLD.Igather(one, doubles(3 * SIZE) if RANK == 0 else None, 0),
            WORLD.Iscatter(many if RANK == 0 else None, doubles(3), 0),
            WORLD.Iallgather(one, doubles(3 * SIZE)),
            WORLD.Ialltoall(many, other),
            WORLD.Iscan(one, doubles(3)),
            WORLD.Iexscan(one, doubles(3)),
            WORLD.Ireduce_scatter_block(many, doubles(3)),
            WORLD.Ireduce_scatter(many, doubles(3), [3] * SIZE),
            WORLD.Igatherv(one, [doubles(3 * SIZE), [3] * SIZE] if RANK == 0 else None, 0),
            WORLD.Iscatterv([many, [3] * SIZE] if RANK == 0 else None, doubles(3), 0),
            WORLD.Iallgatherv(one, [doubles(3 * SIZE), [3] * SIZE]),
            WORLD.Ialltoallv([many, [3] * SIZE], [doubles(3 * SIZE), [3] * SIZE]),
            WORLD.Ialltoallw(wide(many), wide(doubles(3 * SIZE))),
        ]
        MPI.Request.Waitall(requests)


@chapter
def persistent_collectives() -> None:
    one, many, first = doubles(3), doubles(3 * SIZE), RANK == 0
    cart = WORLD.Create_cart([SIZE], periods=[True])
    sides = [doubles(6), [3, 3], [0, 24], [MPI.DOUBLE] * 2]
    requests = [
        WORLD.Barrier_init(),
        WORLD.Bcast_init(doubles(3), 0),
        WORLD.Gather_init(one, doubles(3 * SIZE) if first else None, 0),
        WORLD.Gatherv_init(one, [doubles(3 * SIZE), [3] * SIZE] if first else None, 0),
        WORLD.Scatter_init(many if first else None, doubles(3), 0),
        WORLD.Scatterv_init([many, [3] * SIZE] if first else None, doubles(3), 0),
        WORLD.Allgather_init(one, doubles(3 * SIZE)),
        WORLD.Allgatherv_init(one, [doubles(3 * SIZE), [3] * SIZE]),
        WORLD.Alltoall_init(many, doubles(3 * SIZE)),
        WORLD.Alltoallv_init([many, [3] * SIZE], [doubles(3 * SIZE), [3] * SIZE]),
        WORLD.Alltoallw_init(wide(many), wide(doubles(3 * SIZE))),
        WORLD.Reduce_init(one, doubles(3), MPI.SUM, 0),
        WORLD.Allreduce_init(one, doubles(3), MPI.SUM),
        WORLD.Reduce_scatter_block_init(many, doubles(3), MPI.SUM),
        WORLD.Reduce_scatter_init(many, doubles(3), [3] * SIZE, MPI.SUM),
        WORLD.Scan_init(one, doubles(3), MPI.SUM),
        WORLD.Exscan_init(one, doubles(3), MPI.SUM),
        cart.Neighbor_allgather_init(doubles(3), doubles(6)),
        cart.Neighbor_allgatherv_init(doubles(3), [doubles(6), [3, 3]]),
        cart.Neighbor_alltoall_init(doubles(6), doubles(6)),
        cart.Neighbor_alltoallv_init([doubles(6), [3, 3]], [doubles(6), [3, 3]]),
        cart.Neighbor_alltoallw_init(sides, [doubles(6), *sides[1:]]),
    ]
    for _ in range(2):
        for request in requests:
            request.Start()
            request.Wait()
    for request in requests:
        request.Free()


@chapter
def communicators() -> None:
    halves = WORLD.Split(RANK % 2, -RANK)
    halves.Barrier()
    some = WORLD.Split(0 if RANK else MPI.UNDEFINED, RANK)
    if RANK:
        some.Barrier()
        some.Free()
    for _ in range(3):
        copy = halves.Dup()
        copy.Allreduce(doubles(1), doubles(1))
        copy.Free()
    later, request = WORLD.Idup()
    request.Wait()
    later.Barrier()
    informed, request = WORLD.Idup_with_info(MPI.INFO_NULL)
    request.Wait()
    informed.Barrier()
    WORLD.Dup(MPI.Info.Create()).Barrier()
    node = WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    node.Barrier()
    group = WORLD.group.Incl([SIZE - 1, 0])
    pair = WORLD.Create(group)
    if RANK in (0, SIZE - 1):
        pair.Barrier()
        again = WORLD.Create_group(group, 9)
        again.Barrier()
        again.Free()
    inter = halves.Create_intercomm(0, WORLD, SIZE - 1 if RANK % 2 == (SIZE - 2) % 2 else SIZE - 2, 5)
    inter.Barrier()
    merged = inter.Merge(high=bool(RANK % 2))
    merged.Barrier()
    MPI.COMM_SELF.Allreduce(doubles(1), doubles(1))


@chapter
def topologies() -> None:
    cart = WORLD.Create_cart([SIZE], periods=[True], reorder=False)
    cart.Neighbor_allgather(doubles(2), doubles(4))
    cart.Neighbor_alltoall(doubles(4), doubles(4))
    cart.Ineighbor_alltoall(doubles(4), doubles(4)).Wait()
    cart.Ineighbor_allgather(doubles(2), doubles(4)).Wait()
    cart.Ineighbor_allgatherv(doubles(2), [doubles(4), [2, 2]]).Wait()
    cart.Ineighbor_alltoallv([doubles(4), [2, 2]], [doubles(4), [2, 2]]).Wait()
    sides = [doubles(4), [2, 2], [0, 16], [MPI.DOUBLE] * 2]
    cart.Neighbor_alltoallw(sides, [doubles(4), *sides[1:]])
    cart.Ineighbor_alltoallw(sides, [doubles(4), *sides[1:]]).Wait()
    cart.Sub([False]).Barrier()
    plane = WORLD.Create_cart([1, SIZE])
    plane.Sub([False, True]).Allreduce(doubles(1), doubles(1))
    around = sorted({LEFT, RIGHT})
    graph = WORLD.Create_dist_graph_adjacent(around, around, [1] * len(around), [2] * len(around))
    graph.Neighbor_alltoall(doubles(len(around)), doubles(len(around)))
    counts = [i + 1 for i in range(len(around))]
    graph.Neighbor_allgatherv(doubles(1), [doubles(len(around)), [1] * len(around)])
    graph.Neighbor_alltoallv(
        [doubles(sum(counts)), [1] * len(counts)], [doubles(sum(counts)), [1] * len(counts)]
    )
    free = WORLD.Create_dist_graph([RANK], [1], [RIGHT], MPI.UNWEIGHTED)
    free.Neighbor_allgather(doubles(1), doubles(1))
    ring = WORLD.Create_graph([i + 1 for i in range(SIZE)], [(i + 1) % SIZE for i in range(SIZE)])
    ring.Barrier()


@chapter
def datatypes() -> None:
    make = [
        MPI.DOUBLE.Create_contiguous(3),
        MPI.DOUBLE.Create_vector(2, 2, 4),
        MPI.INT.Create_hvector(2, 1, 24),
        MPI.INT.Create_indexed([1, 2], [4, 0]),
        MPI.INT.Create_hindexed([2, 1], [32, 0]),
        MPI.INT.Create_indexed_block(2, [3, 0]),
        MPI.INT.Create_hindexed_block(2, [16, 0]),
        MPI.Datatype.Create_struct([1, 2], [0, 8], [MPI.INT, MPI.DOUBLE]),
        MPI.DOUBLE.Create_subarray([4, 4], [2, 2], [1, 1], order=MPI.ORDER_FORTRAN),
        MPI.DOUBLE.Create_darray(
            SIZE,
            RANK,
            [8, 8],
            [MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_NONE],
            [MPI.DISTRIBUTE_DFLT_DARG] * 2,
            [SIZE, 1],
        ),
        MPI.DOUBLE.Create_vector(3, 1, 3).Create_resized(0, 8).Create_contiguous(3),
        MPI.FLOAT.Dup(),
    ]
    for i, made in enumerate(make):
        made.Commit()
        there, back = bytearray(4096), bytearray(4096)
        start = 1024  # a type may reach to the left of its address
        WORLD.Sendrecv(
            [memoryview(there)[start:], 2, made], RIGHT, i, [memoryview(back)[start:], 2, made], LEFT, i
        )
        made.Free()


@chapter
def addresses() -> None:
    """Datatypes for MPI_BOTTOM, whose displacements are addresses."""
    one, other = doubles(4), doubles(7)
    places = [MPI.Get_address(one), MPI.Get_address(other)]
    both = MPI.Datatype.Create_struct([4, 7], places, [MPI.DOUBLE, MPI.DOUBLE]).Commit()
    message = [MPI.BOTTOM, 1, both]
    request = WORLD.Isend(message, 1 - RANK)
    WORLD.Recv([doubles(11), 11, MPI.DOUBLE], 1 - RANK)
    request.Wait()
    WORLD.Bcast(message, 0)
    both.Free()


@chapter
def no_process() -> None:
    """The message of MPI_PROC_NULL."""
    for _ in range(2):
        MPI.Message.Probe(WORLD, MPI.PROC_NULL).Irecv(doubles(4)).Wait()
        MPI.Message.Iprobe(WORLD, MPI.PROC_NULL).Recv(doubles(4))
    WORLD.Barrier()


@chapter
def one_sided() -> None:
    memory = doubles(8)
    window = MPI.Win.Create(memory, 8, comm=WORLD)
    one = doubles(1)
    window.Fence()
    window.Put(one, RIGHT, 1)
    window.Get(doubles(2), LEFT, (2, 2, MPI.DOUBLE))
    window.Accumulate(one, RIGHT, 4, MPI.SUM)
    window.Fence(MPI.MODE_NOSUCCEED)
    window.Lock(RIGHT, MPI.LOCK_SHARED)
    window.Fetch_and_op(one, doubles(1), RIGHT, 5, MPI.SUM)
    window.Compare_and_swap(np.zeros(1, "l"), np.zeros(1, "l"), np.zeros(1, "l"), RIGHT, 6)
    window.Get_accumulate(one, doubles(1), RIGHT, 5, MPI.REPLACE)
    window.Flush(RIGHT)
    window.Rput(one, RIGHT, 7).Wait()
    window.Unlock(RIGHT)
    window.Lock_all()
    window.Flush_all()
    window.Unlock_all()
    neighbours = WORLD.group.Incl(sorted({LEFT, RIGHT}))
    window.Post(neighbours)
    window.Start(neighbours)
    window.Put(one, RIGHT, 0)
    window.Complete()
    window.Wait()
    window.Free()
    with_flushes()
    allocated = MPI.Win.Allocate(64, 8, comm=WORLD)
    allocated.Fence()
    allocated.Put(one, RIGHT, 0)
    allocated.Fence()
    allocated.Free()


@chapter
def dynamic_windows() -> None:
    """Displacements are addresses, in two places that are far apart."""
    window, near, far = MPI.Win.Create_dynamic(comm=WORLD), doubles(8), doubles(3_000_000)
    window.Attach(near)
    window.Attach(far)
    places = WORLD.allgather([MPI.Get_address(near), MPI.Get_address(far)])
    pieces = MPI.DOUBLE.Create_hindexed([1, 2], [0, 80]).Commit()
    for k in range(3):
        window.Fence()
        window.Put(doubles(1), RIGHT, [places[RIGHT][0] + 8 * k, 1, MPI.DOUBLE])
        window.Get(doubles(10), LEFT, [places[LEFT][1] + 8000, 10, MPI.DOUBLE])
        window.Put([doubles(3), 3, MPI.DOUBLE], LEFT, [places[LEFT][1] + 800_000, 1, pieces])
        window.Put(doubles(1), MPI.PROC_NULL, [0, 1, MPI.DOUBLE])
        window.Fence()
    window.Lock(RIGHT)
    window.Fetch_and_op(doubles(1), doubles(1), RIGHT, places[RIGHT][0] + 48, MPI.SUM)
    window.Unlock(RIGHT)
    WORLD.Barrier()
    window.Detach(near)
    window.Detach(far)
    window.Free()
    pieces.Free()


@chapter
def ports() -> None:
    """One rank accepts, twice on one port; the others connect to it."""
    half = WORLD.Split(RANK == 0)
    port = WORLD.bcast(MPI.Open_port() if RANK == 0 else None)
    for _ in range(2):
        both = half.Accept(port) if RANK == 0 else half.Connect(port)
        both.Barrier()
        both.Disconnect()
    if RANK == 0:
        MPI.Close_port(port)
    half.Free()


def with_flushes() -> None:
    one, shared = doubles(1), MPI.Win.Allocate_shared(64, 8, comm=WORLD)
    shared.Lock_all()
    shared.Rput(one, RIGHT, 1).Wait()
    shared.Raccumulate(one, RIGHT, 2, MPI.SUM).Wait()
    shared.Flush_local(RIGHT)
    shared.Rget(doubles(1), LEFT, 3).Wait()
    shared.Rget_accumulate(one, doubles(1), RIGHT, 4, MPI.SUM).Wait()
    shared.Flush_local_all()
    shared.Sync()
    shared.Unlock_all()
    neighbours = WORLD.group.Incl(sorted({LEFT, RIGHT}))
    shared.Post(neighbours)
    shared.Start(neighbours)
    shared.Put(one, RIGHT, 0)
    shared.Complete()
    while not shared.Test():
        pass
    shared.Free()


@chapter
def files() -> None:
    file = MPI.File.Open(WORLD, "chapters.dat", MPI.MODE_CREATE | MPI.MODE_RDWR)
    piece = doubles(4)
    file.Set_size(0)
    file.Write_at(RANK * 32, piece)
    file.Sync()
    WORLD.Barrier()
    file.Read_at_all(RANK * 32, piece)
    file.Iread_at(LEFT * 32, piece).Wait()
    file.Set_view(RANK * 32, MPI.DOUBLE, MPI.DOUBLE.Create_contiguous(4).Commit())
    file.Seek(0)
    file.Write_all(piece)
    file.Write_at_all_begin(0, piece)
    file.Write_at_all_end(piece)
    file.Set_atomicity(False)
    file.Close()


@chapter
def file_transfers() -> None:
    """Every way to read and write but by the shared pointer."""
    file = MPI.File.Open(WORLD, "transfers.dat", MPI.MODE_CREATE | MPI.MODE_RDWR)
    piece = doubles(4)
    file.Set_size(0)
    file.Preallocate(256 * SIZE)
    file.Set_view(RANK * 256, MPI.DOUBLE, MPI.DOUBLE)
    for start in (file.Iwrite, file.Iwrite_all, file.Iread, file.Iread_all):
        file.Seek(0)
        start(piece).Wait()
    for start_at in (file.Iwrite_at, file.Iwrite_at_all, file.Iread_at, file.Iread_at_all):
        start_at(2, piece).Wait()
    for one in (file.Write, file.Write_all, file.Read, file.Read_all):
        file.Seek(0)
        one(piece)
    for one_at in (file.Write_at, file.Write_at_all, file.Read_at, file.Read_at_all):
        one_at(1, piece)
    file.Seek(0)
    file.Write_all_begin(piece)
    file.Write_all_end(piece)
    file.Seek(0)
    file.Read_all_begin(piece)
    file.Read_all_end(piece)
    file.Write_at_all_begin(0, piece)
    file.Write_at_all_end(piece)
    file.Read_at_all_begin(0, piece)
    file.Read_at_all_end(piece)
    file.Close()


@chapter
def shared_pointers() -> None:
    file = MPI.File.Open(WORLD, "shared.dat", MPI.MODE_CREATE | MPI.MODE_RDWR)
    piece = doubles(4)
    for write, read in ((file.Write_shared, file.Read_shared), (file.Write_ordered, file.Read_ordered)):
        for one in (write, read):
            file.Seek_shared(0)
            one(piece)
            WORLD.Barrier()
    for start in (file.Iwrite_shared, file.Iread_shared):
        file.Seek_shared(0)
        start(piece).Wait()
        WORLD.Barrier()
    file.Seek_shared(0)
    file.Write_ordered_begin(piece)
    file.Write_ordered_end(piece)
    file.Seek_shared(0)
    file.Read_ordered_begin(piece)
    file.Read_ordered_end(piece)
    file.Close()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        CHAPTERS[name]()
