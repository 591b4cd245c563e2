"""Collectives as point-to-point messages, between each pair of ranks directly (the study of Figure 4.13).

There is no algorithm such as a tree or a ring: each rank sends its data to each rank that gets some, and
waits for all. A duplicate of the communicator keeps these messages away from receives of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scalatrace.replay.calls.sides import displacements, is_given
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.rank import BuiltType, RankReplay
from scalatrace.replay.transport.args import Count, Handles, Ref, Statuses
from scalatrace.replay.transport.base import Handle
from scalatrace.trace.model.typetree import TypeTree

TAG = 1


@dataclass(frozen=True, slots=True)
class PeerBlock:
    """Elements for another rank, or from it."""

    peer: int
    count: int
    type: BuiltType
    first: int = 0


Pieces = Callable[[RankReplay, Any, bool], Iterator[PeerBlock]]
"""What a collective sends (True) or receives (False), by rank of the communicator; its own piece left out."""


def by_messages(rank: RankReplay, event: AnyCall) -> None:
    """Issue a collective as messages: all receives, all sends, one wait."""
    comm, own_rank = duplicate_communicator(rank, event.family), event.comm.rank
    for pieces in ROUNDS[event.op]:
        incoming = [piece for piece in pieces(rank, event, False) if piece.peer != own_rank]
        outgoing = [piece for piece in pieces(rank, event, True) if piece.peer != own_rank]
        exchange(rank, comm, incoming, outgoing)


def duplicate_communicator(rank: RankReplay, family: int) -> Handle:
    """Return the duplicate of a family's communicator; all its ranks ask for it at the same collective."""
    if family not in rank.duplicates:
        handle = rank.mpi.handle("comm")
        rank.mpi.quiet("Comm_dup", rank.comm(family), Ref(handle))
        rank.duplicates[family] = handle
    return rank.duplicates[family]


def exchange(
    rank: RankReplay, comm: Handle, incoming: Sequence[PeerBlock], outgoing: Sequence[PeerBlock]
) -> None:
    """Receive and send these, and wait for all."""
    requests = []
    for piece in incoming:
        requests.append(rank.mpi.handle("request"))
        room = rank.room(piece.count, piece.type, piece.first)
        message = (room, Count(piece.count), piece.type.handle, piece.peer, TAG, comm)
        rank.issue("Irecv", *message, Ref(requests[-1]))
    for piece in outgoing:
        requests.append(rank.mpi.handle("request"))
        payload = rank.out(piece.count, piece.type, piece.first)
        message = (payload, Count(piece.count), piece.type.handle, piece.peer, TAG, comm)
        rank.issue("Isend", *message, Ref(requests[-1]))
    if requests:
        rank.issue("Waitall", len(requests), Handles(requests), Statuses(len(requests)))
    rank.release_buffers()


def _peers(event: AnyCall) -> range:
    return range(len(event.comm.peers))


def _is_root(event: AnyCall) -> bool:
    return bool(event["root"] == event.comm.rank)


def _token(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    built = rank.built(TypeTree("MPI_BYTE"))
    return (PeerBlock(peer, 0, built) for peer in _peers(event))


def _from_root(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    built, n = rank.type(event["datatype"]), event["count"]
    root = event.get("root", 0)
    if sends == (root == event.comm.rank):
        yield from (PeerBlock(peer, n, built) for peer in (_peers(event) if sends else (root,)))


def _to_root(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    built, n = rank.type(event["datatype"]), event["count"]
    root = event.get("root", 0)
    if sends != (root == event.comm.rank):
        yield from (PeerBlock(peer, n, built) for peer in ((root,) if sends else _peers(event)))


def _to_higher(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    built, n, own_rank = rank.type(event["datatype"]), event["count"], event.comm.rank
    yield from (PeerBlock(p, n, built) for p in _peers(event) if (p > own_rank if sends else p < own_rank))


def _blocks(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    """Reduce_scatter: everyone has a block for everyone."""
    built, own_rank = rank.type(event["datatype"]), event.comm.rank
    counts = event.get("recvcounts") or [event["recvcount"]] * len(_peers(event))
    yield from (PeerBlock(p, counts[p if sends else own_rank], built) for p in _peers(event))


def _gather_blocks(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    if sends != _is_root(event):
        yield from _blocks_of_side(rank, event, sends, (event["root"],) if sends else _peers(event))


def _scatter_blocks(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    if sends == _is_root(event):
        yield from _blocks_of_side(rank, event, sends, _peers(event) if sends else (event["root"],))


def _blocks_to_all(rank: RankReplay, event: AnyCall, sends: bool) -> Iterator[PeerBlock]:
    yield from _blocks_of_side(rank, event, sends, _peers(event))


def _blocks_of_side(
    rank: RankReplay, event: AnyCall, sends: bool, peers: Sequence[int]
) -> Iterator[PeerBlock]:
    """The pieces of a side. With MPI_IN_PLACE it is not given, and the other side has their places."""
    sides = ("send", "recv") if sends else ("recv", "send")
    side = next(side for side in sides if is_given(event, f"{side}type"))
    built, counts = rank.type(event[f"{side}type"]), event.get(f"{side}counts")
    if counts is None:
        yield from (PeerBlock(peer, max(0, event[f"{side}count"]), built) for peer in peers)
        return
    places = displacements(event, side, counts)
    one_for_all = sends and event.op.startswith("Allgather")
    for peer in peers:
        at = event.comm.rank if one_for_all else peer
        yield PeerBlock(peer, counts[at], built, places[at])


ROUNDS: dict[str, Sequence[Pieces]] = {
    "Barrier": (_token,),
    "Bcast": (_from_root,),
    "Reduce": (_to_root,),
    "Allreduce": (_to_root, _from_root),
    "Reduce_scatter": (_blocks,),
    "Reduce_scatter_block": (_blocks,),
    "Scan": (_to_higher,),
    "Exscan": (_to_higher,),
    "Gather": (_gather_blocks,),
    "Gatherv": (_gather_blocks,),
    "Scatter": (_scatter_blocks,),
    "Scatterv": (_scatter_blocks,),
    "Allgather": (_blocks_to_all,),
    "Allgatherv": (_blocks_to_all,),
    "Alltoall": (_blocks_to_all,),
    "Alltoallv": (_blocks_to_all,),
}
"""The collectives that become messages, with the exchanges each consists of. Neighbourhood and
nonblocking collectives, MPI_Alltoallw and collectives of intercommunicators are issued as recorded."""


def becomes_messages(event: AnyCall) -> bool:
    """Say whether a call is issued as messages."""
    return event.op in ROUNDS and event.comm.remote is None
