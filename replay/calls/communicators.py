"""Calls that make or free communicators. A new communicator must have the recorded members."""

from __future__ import annotations

from typing import Any

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import NULL, RankReplay
from scalatrace.replay.engine.requests import LiveRequest
from scalatrace.replay.transport.args import Constant, Ref, Text


def make(rank: RankReplay, event: AnyCall, *args: Any) -> None:
    """Issue a call that ends with the new communicator, and keep that."""
    handle = rank.mpi.handle("comm")
    rank.issue(event.op, *args, Ref(handle))
    rank.adopt(event["newcomm"], handle)


@handles("Comm_dup")
def dup(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_dup(comm, newcomm)."""
    make(rank, event, rank.comm(event.comm.family))


@handles("Comm_dup_with_info")
def dup_with_info(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_dup_with_info(comm, info, newcomm)."""
    make(rank, event, rank.comm(event.comm.family), Constant.INFO_NULL)


@handles("Comm_idup", "Comm_idup_with_info")
def idup(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_idup(comm, newcomm, request); its members are not checked."""
    handle, live = rank.mpi.handle("comm"), LiveRequest(rank.mpi.handle("request"))
    info = [Constant.INFO_NULL] if event.op.endswith("info") else []
    rank.issue(event.op, rank.comm(event.comm.family), *info, Ref(handle), Ref(live.handle))
    rank.requests.add(live)
    rank.rename(event["newcomm"].family, handle)


@handles("Comm_split")
def split(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_split(comm, color, key, newcomm)."""
    make(rank, event, rank.comm(event.comm.family), rank.mpi.constant(event["color"]), event["key"])


@handles("Comm_split_type")
def split_type(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_split_type(comm, split_type, key, info, newcomm)."""
    kind = rank.named_constant(event["split_type"])
    make(rank, event, rank.comm(event.comm.family), kind, event["key"], Constant.INFO_NULL)


@handles("Comm_create")
def create(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_create(comm, group, newcomm)."""
    make(rank, event, rank.comm(event.comm.family), group_of(rank, event))


@handles("Comm_create_group")
def create_group(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_create_group(comm, group, tag, newcomm)."""
    make(rank, event, rank.comm(event.comm.family), group_of(rank, event), event["tag"])


@handles("Intercomm_create")
def intercomm_create(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm).

    Leaders exchange messages on the peer communicator. A probabilistic replay receives all messages on that,
    so it gives another one.
    """
    peer, leader = event["peer_comm"], rank.mpi.constant(event["remote_leader"])
    family = peer.family if hasattr(peer, "family") else NULL
    if family != NULL and rank.aside is not None:
        peer_comm, leader = rank.aside, peer.members[leader]
    else:
        peer_comm = rank.comm(family)
    args = [rank.mpi.constant(event["local_leader"]), peer_comm, leader, event["tag"]]
    make(rank, event, rank.comm(event.comm.family), *args)


@handles("Intercomm_merge")
def intercomm_merge(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Intercomm_merge(intercomm, high, newintracomm)."""
    make(rank, event, rank.comm(event.comm.family), event["high"])


@handles("Comm_accept", "Comm_connect")
def over_port(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_accept(port_name, info, root, comm, newcomm)."""
    port = ""
    if event["root"] == event.comm.rank:
        recorded = event["port_name"]
        if recorded not in rank.ports:
            raise ReplayError("no call of the trace accepts on its port: the server was another job")
        port = rank.ports[recorded]
    make(rank, event, Text(port), Constant.INFO_NULL, event["root"], rank.comm(event.comm.family))


@handles("Comm_free", "Comm_disconnect")
def free(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Comm_free(comm)."""
    family = event.comm.family
    rank.issue(event.op, Ref(rank.comm(family)))
    rank.rename(family, None)


def group_of(rank: RankReplay, event: AnyCall) -> Any:
    """Return the group of an event, which the trace holds as ranks of its communicator."""
    members = event.comm.members
    try:
        return rank.mpi.group([members[i] for i in event["group"]])
    except IndexError:
        raise ReplayError(f"a group has ranks that communicator {event.comm.family} has not") from None
