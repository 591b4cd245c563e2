"""Probes, and the receives of messages they matched."""

from __future__ import annotations

from typing import Any

from scalatrace.replay.calls.arrivals import directed
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.engine.requests import Live
from scalatrace.replay.transport.args import Constant, Out, Ref, Status
from scalatrace.trace.values.vec import PROC_NULL


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
    live, status = _matched(rank)
    with directed(rank, event) as (source, _):
        rank.issue("Mprobe", source, *_channel(rank, event), Ref(live.handle), status)
    _keep(rank, event, live)


@handles("Improbe")
def improbe(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Improbe(source, tag, comm, flag, message, status), until the flag is true."""
    (live, status), flag = _matched(rank), Out()
    with directed(rank, event) as (source, _):
        rank.poll("Improbe", flag, source, *_channel(rank, event), flag, Ref(live.handle), status)
    _keep(rank, event, live)


@handles("Mrecv")
def mrecv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Mrecv(buf, count, datatype, message, status)."""
    message, args = _received(rank, event)
    rank.issue("Mrecv", *args, Ref(message), Constant.STATUS)
    rank.release_buffers()


@handles("Imrecv")
def imrecv(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Imrecv(buf, count, datatype, message, request)."""
    message, args = _received(rank, event)
    rank.issue("Imrecv", *args, Ref(message), Ref(rank.new_request().handle))


def _envelope(rank: RankReplay, event: AnyCall) -> list[Any]:
    return [rank.mpi.constant(event["source"]), *_channel(rank, event)]


def _channel(rank: RankReplay, event: AnyCall) -> list[Any]:
    return [rank.mpi.constant(event["tag"]), rank.comm(event.comm.family)]


def _keep(rank: RankReplay, event: AnyCall, live: Live) -> None:
    """Name the message by its age; one from MPI_PROC_NULL has none."""
    if event["source"] != PROC_NULL:
        rank.messages.add(live)


def _matched(rank: RankReplay) -> tuple[Live, Status]:
    status = Status()
    return Live(rank.mpi.handle("message"), status=status), status


def _received(rank: RankReplay, event: AnyCall) -> tuple[Any, list[Any]]:
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
