"""Run lowered traces without time, and traces by hand that use many operations."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from scalatrace import Trace
from scalatrace.predict.lowering import (
    CollectiveAction,
    LoweredAction,
    RecvMessage,
    SendMessage,
    TraceLowering,
    WaitAction,
)
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, INT, Builder, Comm, To

Key = tuple[int, int, int]


@dataclass
class Outcome:
    """Messages by source, destination and tag, of which each has a receive."""

    sent: Counter[Key] = field(default_factory=Counter)
    nbytes: int = 0
    collectives: int = 0


def run(lowering: TraceLowering) -> Outcome:
    """Run all ranks: sends are buffered, receives match in order. Fails where a rank never ends."""
    ranks = list(lowering.ranks)
    walks = [lowering.actions(rank) for rank in ranks]
    lists = [list(walk) for walk in walks]
    under_way: dict[Key, deque[int]] = defaultdict(deque)
    posted: dict[Key, deque[int]] = defaultdict(deque)
    complete: list[set[int]] = [set() for _ in ranks]
    blocking = -1
    at = [0] * len(ranks)
    entered: Counter[tuple[int, tuple[int, ...]]] = Counter()
    everyone = tuple(range(len(ranks)))
    outcome = Outcome()

    def match(key: Key) -> None:
        while under_way[key] and posted[key]:
            under_way[key].popleft()
            complete[key[1]].add(posted[key].popleft())

    def step(i: int, action: LoweredAction, first: bool) -> bool:
        nonlocal blocking
        if isinstance(action, SendMessage):
            key = i, action.peer, action.tag
            under_way[key].append(action.nbytes)
            outcome.sent[key] += 1
            outcome.nbytes += action.nbytes
            if action.request is not None:
                complete[i].add(action.request)
            match(key)
        elif isinstance(action, RecvMessage):
            key = action.peer, i, action.tag
            if first:
                name = action.request if action.request is not None else -1
                posted[key].append(name)
                complete[i].discard(-1)
                match(key)
            return action.request is not None or -1 in complete[i]
        elif isinstance(action, WaitAction):
            if not complete[i] >= set(action.requests):
                return False
            complete[i] -= set(action.requests)
        elif isinstance(action, CollectiveAction):
            members = action.members or everyone
            if first:
                entered[i, members] += 1
            return all(entered[member, members] >= entered[i, members] for member in members)
        return True

    begun = [-1] * len(ranks)
    progress = True
    while progress:
        progress = False
        for i, own in enumerate(lists):
            while at[i] < len(own):
                first, begun[i] = begun[i] < at[i], at[i]
                if not step(i, own[at[i]], first):
                    break
                at[i], progress = at[i] + 1, True
    stuck = {i: own[at[i]] for i, own in enumerate(lists) if at[i] < len(own)}
    assert not stuck, f"ranks wait for ever: {stuck}"
    left = {key: len(n) for key, n in under_way.items() if n}
    assert not left, f"messages without a receive: {left}"
    outcome.collectives = sum(n for (rank, _), n in entered.items() if rank == 0)
    return outcome


def on(ranks: dict[int, int]) -> Groups:
    """An elastic value of some ranks."""
    return Groups([(RankList([rank]), Vec(value)) for rank, value in sorted(ranks.items())])


def every_kind(n: int = 4) -> Trace:
    """A program of an even number of ranks: messages of all kinds, collectives of sub-communicators."""
    b = Builder(n)
    halves = b.family("split", (n // 2, n // 2), (*range(0, n, 2), *range(1, n, 2)))
    grid = b.family("cart", (n,), tuple(range(n)))
    dup = b.family("dup", (n,), tuple(range(n)))
    right, left = To(Encoding.MODULO, Vec(1)), To(Encoding.MODULO, Vec(-1))
    ints = {"count": 3, "datatype": INT}
    sizes = tuple(range(n // 2))
    counts = tuple(i + 1 for i in range(n))
    sides = {"sendtype": INT, "recvtype": INT}
    return b.of(
        b.event("Comm_split", comm=Comm(), color=0, key=0, newcomm=halves),
        b.event("Cart_create", comm=Comm(), ndims=1, dims=(n,), periods=(1,), reorder=0, newcomm=grid),
        b.event("Comm_dup", comm=Comm(), newcomm=dup),
        b.loop(3,
            b.event("Irecv", **ints, source=left, tag=5, comm=Comm()),
            b.event("Irecv", **ints, source=left, tag=5, comm=dup),
            b.event("Issend", **ints, dest=right, tag=5, comm=dup),
            b.event("Isend", **ints, dest=right, tag=5, comm=Comm()),
            b.event("Waitany", requests=(0, 1, 2, 3), index=1),
            b.event("Waitsome", requests=(0,)),
            b.event("Waitall", requests=(0, 1)),
        ),
        b.event("Sendrecv", sendcount=2, sendtype=DOUBLE, dest=right, sendtag=1, recvcount=2, recvtype=DOUBLE,
                source=left, recvtag=1, comm=Comm()),
        b.event("Send_init", **ints, dest=right, tag=7, comm=Comm()),
        b.event("Recv_init", **ints, source=left, tag=7, comm=Comm()),
        b.loop(2,
            b.event("Startall", requests=(0, 1)),
            b.event("Waitall", requests=(1, 0)),
        ),
        b.event("Request_free", request=0),
        b.event("Request_free", request=0),
        b.event("Psend_init", partitions=4, count=2, datatype=INT, dest=right, tag=9, comm=Comm()),
        b.event("Precv_init", partitions=2, count=4, datatype=INT, source=left, tag=9, comm=Comm()),
        b.loop(2,
            b.event("Startall", requests=(0, 1)),
            b.event("Pready_range", partition_low=0, partition_high=2, request=1),
            b.event("Pready", partition=3, request=1),
            b.event("Waitall", requests=(0, 1)),
        ),
        b.event("Mprobe", source=left, tag=3, comm=Comm(), repeat=on({1: 1})),
        b.event("Send", **ints, dest=right, tag=3, comm=Comm(), repeat=on({0: 1})),
        b.event("Mrecv", **ints, message=0, repeat=on({1: 1})),
        b.event("Ibarrier", comm=halves),
        b.event("Iallreduce", count=1000, datatype=DOUBLE, op="MPI_SUM", comm=halves),
        b.event("Wait", request=on({rank: rank % 2 for rank in range(n)})),
        b.event("Wait", request=0),
        b.event("Bcast", count=10, datatype=INT, root=1, comm=halves),
        b.event("Allreduce", count=10, datatype=INT, op="MPI_SUM", comm=Comm()),
        b.event("Reduce", count=10, datatype=INT, op="MPI_SUM", root=1, comm=dup),
        b.event("Allgatherv", sendcount=on({rank: rank // 2 for rank in range(n)}), recvcounts=sizes, **sides,
                comm=halves),
        b.event("Gatherv", sendcount=on({rank: rank + 1 for rank in range(n)}), recvcounts=counts, **sides,
                root=1, comm=Comm()),
        b.event("Scatterv", sendcounts=counts, recvcount=on({rank: rank + 1 for rank in range(n)}), **sides,
                root=2, comm=Comm()),
        b.event("Alltoallv", sendcounts=(2,) * n, recvcounts=(2,) * n, **sides, comm=Comm()),
        b.event("Alltoallw", sendcounts=(2,) * n, sendtypes=member_types(n, "vector(2,1,3,MPI_INT)", 8),
                recvcounts=(4,) * n, recvtypes=member_types(n, "MPI_INT", 4), comm=Comm()),
        b.event("Reduce_scatter", recvcounts=counts, datatype=INT, op="MPI_SUM", comm=Comm()),
        b.event("Reduce_scatter_block", recvcount=4, datatype=INT, op="MPI_SUM", comm=Comm()),
        b.event("Neighbor_alltoall", sendcount=2, recvcount=2, **sides, comm=grid),
        b.event("Alltoall", sendcount=100, recvcount=100, **sides, comm=Comm()),
        b.event("Gather", sendcount=3, recvcount=3, **sides, root=0, comm=Comm()),
        b.event("Scatter", sendcount=3, recvcount=3, **sides, root=n - 1, comm=Comm()),
        b.event("Allgather", sendcount=3, recvcount=3, **sides, comm=Comm()),
        b.event("Scan", count=3, datatype=INT, op="MPI_SUM", comm=Comm()),
        b.event("Barrier", comm=Comm()),
    )  # fmt: skip


def member_types(n: int, description: str, size: int) -> Datatype:
    """The datatypes of an Alltoallw, as a trace has them."""
    ones, zeros, types = (",".join([word] * n) for word in ("1", "0", description))
    return Datatype(f"struct([{ones}],[{zeros}],[{types}])", n * size, n * size)


def sends_of(lowering: TraceLowering, rank: int) -> Iterator[SendMessage]:
    """The messages that a rank sends, in order."""
    return (action for action in lowering.actions(rank) if isinstance(action, SendMessage))
