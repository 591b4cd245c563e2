"""Neighbourhood collectives, on communicators with a topology."""

from __future__ import annotations

from scalatrace.replay.calls.collectives import variants
from scalatrace.replay.calls.sides import each_its_type, plain, vector
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay


@handles(*variants("Neighbor_allgather"))
def neighbor_allgather(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Neighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)."""
    _, sources = rank.degrees(event)
    send, recv = plain(rank, event, "send", True), plain(rank, event, "recv", False, sources)
    rank.start(event, *send, *recv, rank.comm(event.comm.family))


@handles(*variants("Neighbor_allgatherv"))
def neighbor_allgatherv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Neighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)."""
    send, recv = plain(rank, event, "send", True), vector(rank, event, "recv", False)
    rank.start(event, *send, *recv, rank.comm(event.comm.family))


@handles(*variants("Neighbor_alltoall"))
def neighbor_alltoall(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Neighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)."""
    destinations, sources = rank.degrees(event)
    send, recv = plain(rank, event, "send", True, destinations), plain(rank, event, "recv", False, sources)
    rank.start(event, *send, *recv, rank.comm(event.comm.family))


@handles(*variants("Neighbor_alltoallv"))
def neighbor_alltoallv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Neighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, ..., recvtype, comm)."""
    send, recv = vector(rank, event, "send", True), vector(rank, event, "recv", False)
    rank.start(event, *send, *recv, rank.comm(event.comm.family))


@handles(*variants("Neighbor_alltoallw"))
def neighbor_alltoallw(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Neighbor_alltoallw: as Alltoallw, with MPI_Aint displacements."""
    send = each_its_type(rank, event, "send", True, wide=True)
    recv = each_its_type(rank, event, "recv", False, wide=True)
    rank.start(event, *send, *recv, rank.comm(event.comm.family))
