"""Point-to-point communication: blocking, nonblocking, and the making of persistent requests."""

from __future__ import annotations

from typing import Any

from scalatrace.operations import Mode, operation
from scalatrace.replay.calls.arrivals import directed
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay, returns_request
from scalatrace.replay.transport.args import Constant


@handles(
    "Send", "Bsend", "Ssend", "Rsend",
    "Isend", "Ibsend", "Issend", "Irsend",
    "Send_init", "Bsend_init", "Ssend_init", "Rsend_init",
)  # fmt: skip
def send(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Send(buf, count, datatype, dest, tag, comm) and its modes."""
    dest, tag = rank.mpi.constant(event["dest"]), event["tag"]
    if operation(event.op).mode is Mode.BUFFERED:
        rank.attach(event["count"] * event["datatype"].size)
    rank.start(event, *rank.message(event, out=True), dest, tag, rank.comm(event.comm.family))


@handles("Recv", "Irecv", "Recv_init")
def recv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Recv(buf, count, datatype, source, tag, comm, status); a wildcard stays one if any message fits."""
    if event.op == "Recv" and event.family in rank.senders:
        _recv_directed(rank, event)
        return
    source, tag = rank.mpi.constant(event["source"]), rank.mpi.constant(event["tag"])
    args = [*rank.message(event, out=False), source, tag, rank.comm(event.comm.family)]
    rank.start(event, *args, *status_unless_request(event))


def _recv_directed(rank: RankReplay, event: AnyCall) -> None:
    """Issue a receive with the source, and if necessary the count, of its message."""
    with directed(rank, event) as (source, nbytes):
        message = rank.message(event, out=False, nbytes=nbytes)
        tag = rank.mpi.constant(event["tag"])
        rank.issue("Recv", *message, source, tag, rank.comm(event.family), Constant.STATUS)
    rank.release_buffers()


@handles("Sendrecv", "Isendrecv")
def sendrecv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Sendrecv(sendbuf, ..., dest, sendtag, recvbuf, ..., source, recvtag, comm, status)."""
    constant = rank.mpi.constant
    args = [
        *rank.message(event, True, "sendcount", "sendtype"),
        constant(event["dest"]),
        event["sendtag"],
        *rank.message(event, False, "recvcount", "recvtype"),
        constant(event["source"]),
        constant(event["recvtag"]),
        rank.comm(event.comm.family),
    ]
    rank.start(event, *args, *status_unless_request(event))


@handles("Sendrecv_replace", "Isendrecv_replace")
def sendrecv_replace(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status)."""
    constant = rank.mpi.constant
    peers = [constant(event[name]) for name in ("dest", "sendtag", "source", "recvtag")]
    rank.sends(event["count"] * event["datatype"].size)
    args = [*rank.message(event, out=False), *peers, rank.comm(event.comm.family)]
    rank.start(event, *args, *status_unless_request(event))


def status_unless_request(event: AnyCall) -> list[Any]:
    """Return the status argument that blocking forms end with."""
    return [] if returns_request(event.op) else [Constant.STATUS]
