"""Partitioned communication."""

from __future__ import annotations

from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.args import Ints, Out, Wide


@handles("Psend_init", "Precv_init")
def init(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request)."""
    sends = event.op == "Psend_init"
    built, partitions, count = rank.type(event["datatype"]), event["partitions"], event["count"]
    buffer = rank.out(partitions * count, built) if sends else rank.room(partitions * count, built)
    peer = rank.mpi.constant(event["dest" if sends else "source"])
    tag, comm = rank.mpi.constant(event["tag"]), rank.comm(event.comm.family)
    rank.start(event, buffer, partitions, Wide(count), built.handle, peer, tag, comm)


@handles("Pready")
def pready(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pready(partition, request)."""
    rank.issue("Pready", event["partition"], rank.requests.at(event["request"]).handle)


@handles("Pready_range")
def pready_range(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pready_range(partition_low, partition_high, request)."""
    low, high = event["partition_low"], event["partition_high"]
    rank.issue("Pready_range", low, high, rank.requests.at(event["request"]).handle)


@handles("Pready_list")
def pready_list(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pready_list(length, array_of_partitions, request)."""
    partitions = event["array_of_partitions"]
    request = rank.requests.at(event["request"]).handle
    rank.issue("Pready_list", len(partitions), Ints(partitions), request)


@handles("Parrived")
def parrived(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Parrived(request, partition, flag), until the flag is true."""
    flag = Out()
    rank.poll("Parrived", flag, rank.requests.at(event["request"]).handle, event["partition"], flag)
