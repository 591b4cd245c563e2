"""Probes, and the receives of messages they matched."""

from __future__ import annotations

from typing import Any

from replay.args import Constant, Out, Ref
from replay.rank import Rank
from replay.registry import handles
from replay.requests import Live
from scalatrace.trace.values import PROC_NULL


@handles("Probe")
def probe(rank: Rank, event: Any) -> None:
    """MPI_Probe(source, tag, comm, status)."""
    rank.issue("Probe", *_envelope(rank, event), Constant.STATUS)


@handles("Iprobe")
def iprobe(rank: Rank, event: Any) -> None:
    """MPI_Iprobe(source, tag, comm, flag, status), until it says yes."""
    flag = Out()
    rank.poll("Iprobe", flag, *_envelope(rank, event), flag, Constant.STATUS)


@handles("Mprobe")
def mprobe(rank: Rank, event: Any) -> None:
    """MPI_Mprobe(source, tag, comm, message, status)."""
    live = Live(rank.mpi.handle("message"))
    rank.issue("Mprobe", *_envelope(rank, event), Ref(live.handle), Constant.STATUS)
    _keep(rank, event, live)


@handles("Improbe")
def improbe(rank: Rank, event: Any) -> None:
    """MPI_Improbe(source, tag, comm, flag, message, status), until it says yes."""
    live, flag = Live(rank.mpi.handle("message")), Out()
    rank.poll("Improbe", flag, *_envelope(rank, event), flag, Ref(live.handle), Constant.STATUS)
    _keep(rank, event, live)


@handles("Mrecv")
def mrecv(rank: Rank, event: Any) -> None:
    """MPI_Mrecv(buf, count, datatype, message, status)."""
    message = _message(rank, event)
    rank.issue("Mrecv", *rank.message(event, out=False), Ref(message), Constant.STATUS)
    rank.settle()


@handles("Imrecv")
def imrecv(rank: Rank, event: Any) -> None:
    """MPI_Imrecv(buf, count, datatype, message, request)."""
    message = _message(rank, event)
    args = [*rank.message(event, out=False), Ref(message)]
    rank.issue("Imrecv", *args, Ref(rank.new_request().handle))


def _envelope(rank: Rank, event: Any) -> list[Any]:
    constant = rank.mpi.constant
    return [constant(event["source"]), constant(event["tag"]), rank.comm(event.comm.family)]


def _keep(rank: Rank, event: Any, live: Live) -> None:
    """Name the message by its age; one from MPI_PROC_NULL has none."""
    if event["source"] != PROC_NULL:
        rank.messages.add(live)


def _message(rank: Rank, event: Any) -> Any:
    """Return the message that the receive consumes, no longer alive."""
    age = event["message"]
    if age == PROC_NULL:
        return rank.mpi.predefined("message", "MPI_MESSAGE_NO_PROC")
    live = rank.messages.at(age)
    rank.messages.remove([live])
    return live.handle
