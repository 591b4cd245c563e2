"""Point-to-point communication: sends, receives, probes, and the making of persistent requests.

Where messages of several lengths can match a receive, it first waits for its message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scalatrace.operations import Mode, operation
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay, returns_request
from scalatrace.replay.engine.requests import LiveRequest
from scalatrace.replay.transport.args import Constant, Out, Ref, Status
from scalatrace.replay.transport.backoff import Backoff
from scalatrace.trace.values.vec import ANY_SOURCE, PROC_NULL

MAX_WAIT_S = 3.0
"""How long a receive waits for the planned sender while other messages are there."""


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
    with direct_receive(rank, event) as (source, nbytes):
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


@handles("Probe")
def probe(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Probe(source, tag, comm, status)."""
    rank.issue("Probe", *_envelope(rank, event), Constant.STATUS)


@handles("Iprobe")
def iprobe(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Iprobe(source, tag, comm, flag, status), until the flag is true."""
    flag = Out()
    rank.poll("Iprobe", flag, *_envelope(rank, event), flag, Constant.STATUS)


@handles("Mprobe")
def mprobe(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Mprobe(source, tag, comm, message, status)."""
    live, status = _make_matched(rank)
    with direct_receive(rank, event) as (source, _):
        rank.issue("Mprobe", source, *_channel(rank, event), Ref(live.handle), status)
    _keep(rank, event, live)


@handles("Improbe")
def improbe(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Improbe(source, tag, comm, flag, message, status), until the flag is true."""
    (live, status), flag = _make_matched(rank), Out()
    with direct_receive(rank, event) as (source, _):
        rank.poll("Improbe", flag, source, *_channel(rank, event), flag, Ref(live.handle), status)
    _keep(rank, event, live)


@handles("Mrecv")
def mrecv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Mrecv(buf, count, datatype, message, status)."""
    message, args = _prepare_matched_receive(rank, event)
    rank.issue("Mrecv", *args, Ref(message), Constant.STATUS)
    rank.release_buffers()


@handles("Imrecv")
def imrecv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Imrecv(buf, count, datatype, message, request)."""
    message, args = _prepare_matched_receive(rank, event)
    rank.issue("Imrecv", *args, Ref(message), Ref(rank.new_request().handle))


def _envelope(rank: RankReplay, event: AnyCall) -> list[Any]:
    return [rank.mpi.constant(event["source"]), *_channel(rank, event)]


def _channel(rank: RankReplay, event: AnyCall) -> list[Any]:
    return [rank.mpi.constant(event["tag"]), rank.comm(event.comm.family)]


def _keep(rank: RankReplay, event: AnyCall, live: LiveRequest) -> None:
    """Name the message by its age; one from MPI_PROC_NULL has none."""
    if event["source"] != PROC_NULL:
        rank.messages.add(live)


def _make_matched(rank: RankReplay) -> tuple[LiveRequest, Status]:
    status = Status()
    return LiveRequest(rank.mpi.handle("message"), status=status), status


def _prepare_matched_receive(rank: RankReplay, event: AnyCall) -> tuple[Any, list[Any]]:
    """Return the handle of the message that a receive consumes, and the receive's buffer, count and datatype.

    A probe of any source may have matched another message than in the program, and a longer one.
    """
    age = event["message"]
    if age == PROC_NULL:
        return rank.mpi.predefined("message", "MPI_MESSAGE_NO_PROC"), rank.message(event, out=False)
    live = rank.messages.at(age)
    rank.messages.remove([live])
    nbytes = 0 if live.status is None else rank.mpi.matched(live.status)[1]
    return live.handle, rank.message(event, out=False, nbytes=nbytes)


@contextmanager
def direct_receive(rank: RankReplay, event: AnyCall) -> Iterator[tuple[int, int]]:
    """Give the source for the receive or matched probe of an event, and the bytes of its message.

    The source is the planned sender of a receive from any source. If its message does not come while others
    wait, or nothing is planned, it is the sender of any message that matches. The bytes are 0 where any
    message fits. A tracer records the source of the event.
    """
    family, wild = event.family, event["source"] == ANY_SOURCE
    if family not in rank.senders or (not wild and rank.senders.has_plan(family)):
        yield rank.mpi.constant(event["source"]), 0
    elif wild:
        with rank.mpi.recorded_as_any_source():
            yield _arrival(rank, event, rank.senders.next(family))
    else:
        yield _arrival(rank, event, None)


def _arrival(rank: RankReplay, event: AnyCall, planned: int | None) -> tuple[int, int]:
    """Wait for a message: its source and bytes."""
    family = event.family
    envelope = (rank.mpi.constant(event["tag"]), rank.comm(family))
    start, status = rank.pace.wait(), Status()
    rank.mpi.quiet("Probe", rank.mpi.constant(event["source"]), *envelope, status)
    source, nbytes = rank.mpi.matched(status)
    if planned not in (None, source):
        came = _await(rank, planned, envelope)
        if came is None:
            rank.senders.drop(family)
        else:
            source, nbytes = came
    rank.stats.of(event.op, rank.family).ns += rank.pace.called() - start
    return source, nbytes


def _await(rank: RankReplay, source: Any, envelope: tuple[Any, ...]) -> tuple[int, int] | None:
    """Wait for a message of a source: its source and bytes, or None when it has not arrived in time."""
    flag, status, backoff = Out(), Status(), Backoff(rank.mpi.shares_cores)
    start = time.monotonic()
    limit = min(MAX_WAIT_S, rank.senders.left_s)
    while True:
        rank.mpi.quiet("Iprobe", source, *envelope, flag, status)
        waited = time.monotonic() - start
        if flag.value or waited > limit:
            rank.senders.left_s -= waited
            return rank.mpi.matched(status) if flag.value else None
        backoff.pause()
