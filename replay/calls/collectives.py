"""Collectives: blocking, nonblocking and persistent. The root's side is the root's only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scalatrace.replay.calls.sides import each_its_type, in_place, plain, vector
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.args import Constant, Count, Counts
from scalatrace.trace.values.vec import ROOT


def variants(*names: str) -> tuple[str, ...]:
    """Return each operation's blocking, nonblocking and persistent form."""
    return tuple(form for name in names for form in (name, "I" + name.lower(), name + "_init"))


@handles(*variants("Barrier"))
def barrier(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Barrier(comm)."""
    rank.start(event, rank.comm(event.comm.family))


@handles(*variants("Bcast"))
def bcast(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Bcast(buffer, count, datatype, root, comm)."""
    args = rank.message(event, out=_is_root(event))
    rank.start(event, *args, _root(rank, event), rank.comm(event.comm.family))


@handles(*variants("Reduce"))
def reduce(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm)."""
    args = _operands(rank, event, receives=_is_root(event))
    op = rank.op(event["op"])
    rank.start(event, *args, op, _root(rank, event), rank.comm(event.comm.family))


@handles(*variants("Allreduce", "Scan", "Exscan"))
def allreduce(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm)."""
    rank.start(event, *_operands(rank, event), rank.op(event["op"]), rank.comm(event.comm.family))


@handles(*variants("Reduce_scatter_block"))
def reduce_scatter_block(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm)."""
    built, n = rank.type(event["datatype"]), event["recvcount"]
    operands = _send_and_room(rank, event, n * event.comm.size, built, n)
    op = rank.op(event["op"])
    rank.start(event, *operands, Count(n), built.handle, op, rank.comm(event.comm.family))


@handles(*variants("Reduce_scatter"))
def reduce_scatter(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm)."""
    built, counts = rank.type(event["datatype"]), event["recvcounts"]
    operands = _send_and_room(rank, event, sum(counts), built, counts[event.comm.rank])
    op = rank.op(event["op"])
    rank.start(event, *operands, Counts(counts), built.handle, op, rank.comm(event.comm.family))


Side = Callable[[RankReplay, AnyCall, str, bool], list[Any]]
"""Makes the arguments of "send" or "recv"; the last one: whether its buffer is sent."""


def exchange_blocks(name: str, send: Side, recv: Side, rooted: bool = False, in_place_side: int = 0) -> None:
    """Register a handler: MPI_Name(sendbuf, ..., sendtype, recvbuf, ..., recvtype, [root,] comm).

    Args:
        in_place_side: the one that may be MPI_IN_PLACE: 0 (send) or 1 (recv).
    """

    @handles(*variants(name))
    def issue(rank: RankReplay, event: AnyCall) -> None:
        sides = send(rank, event, "send", True), recv(rank, event, "recv", False)
        _placed(event, sides[in_place_side])
        root = [_root(rank, event)] if rooted else []
        rank.start(event, *sides[0], *sides[1], *root, rank.comm(event.comm.family))


def _of_all(rank: RankReplay, event: AnyCall, side: str, out: bool) -> list[Any]:
    return plain(rank, event, side, out, len(event.comm.peers))


exchange_blocks("Gather", plain, _of_all, rooted=True)
exchange_blocks("Gatherv", plain, vector, rooted=True)
exchange_blocks("Scatter", _of_all, plain, rooted=True, in_place_side=1)
exchange_blocks("Scatterv", vector, plain, rooted=True, in_place_side=1)
exchange_blocks("Allgather", plain, _of_all)
exchange_blocks("Allgatherv", plain, vector)
exchange_blocks("Alltoall", _of_all, _of_all)
exchange_blocks("Alltoallv", vector, vector)


@handles(*variants("Alltoallw"))
def alltoallw(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, ..., recvtypes, comm)."""
    if in_place(event):
        send: list[Any] = [Constant.IN_PLACE, Constant.NULL, Constant.NULL, Constant.NULL]
    else:
        send = each_its_type(rank, event, "send", True)
    recv = each_its_type(rank, event, "recv", False)
    rank.start(event, *send, *recv, rank.comm(event.comm.family))


def _root(rank: RankReplay, event: AnyCall) -> int:
    return rank.mpi.constant(event["root"])


def _is_root(event: AnyCall) -> bool:
    """Say whether this rank is the root; of an intercommunicator, it says so itself."""
    return bool(event["root"] == (event.comm.rank if event.comm.remote is None else ROOT))


def _placed(event: AnyCall, side: list[Any]) -> None:
    """Put MPI_IN_PLACE where the program had it."""
    if in_place(event):
        side[0] = Constant.IN_PLACE


def _operands(rank: RankReplay, event: AnyCall, receives: bool = True) -> list[Any]:
    """Return sendbuf, recvbuf, count, datatype of a reduction."""
    built, n = rank.type(event["datatype"]), event["count"]
    recv = rank.room(n, built) if receives else Constant.NULL
    args = [rank.out(n, built), recv, Count(n), built.handle]
    _placed(event, args)
    return args


def _send_and_room(rank: RankReplay, event: AnyCall, sent: int, built: Any, received: int) -> list[Any]:
    """Return sendbuf and recvbuf of a reduction whose result is scattered; in place, recvbuf has it all."""
    args = [rank.out(sent, built), rank.room(sent if in_place(event) else received, built)]
    _placed(event, args)
    return args
