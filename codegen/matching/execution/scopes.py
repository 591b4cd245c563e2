"""Who a call is made with: the communicator as a set of world ranks, and the order its members keep.

Two calls of different ranks belong to one collective operation when they are the k-th of one stream: MPI lets
every member of a communicator call its collectives in the same order. Windows and files keep an order each.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.errors import FormatError
from scalatrace.trace.model.tables import Communicator, Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["NULL", "SELF", "WORLD", "CommScope", "Scopes", "stream_parameter"]

WORLD, SELF, NULL = 0, 1, 2


def stream_parameter(op: Op) -> str:
    """The parameter besides the communicator that tells streams apart: a window, a file, or "" for none."""
    return next((name for name in ("win", "fh") if op.index(name) is not None), "")


@dataclass(frozen=True, slots=True, eq=False)
class CommScope:
    """A communicator, for one of its members.

    Attributes:
        key: names the communicator, the same for all its members.
        members: the world ranks that are in it and in the trace, both groups of an intercommunicator.
        inside: the same as a set.
        comm: the communicator as this member sees it.
        numbers: world rank -> number of the peer.
    """

    key: tuple[int, int]
    members: tuple[int, ...]
    inside: frozenset[int]
    comm: Communicator
    numbers: dict[int, int]

    def world(self, peer: int) -> int | None:
        """World rank of a peer; None for special values, other worlds and ranks that are not in the trace."""
        if not 0 <= peer < len(self.comm.peers):
            return None
        rank = self.comm.peers[peer]
        return rank if rank in self.inside else None


class Scopes:
    """The scopes of a trace, made when they are first asked for."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[tuple[int, int], CommScope | None] = {}
        self._members: dict[tuple[int, ...], tuple[tuple[int, ...], frozenset[int]]] = {}
        self._numbers: dict[tuple[int, ...], dict[int, int]] = {}

    def of(self, family: int, rank: int) -> CommScope | None:
        """The communicator of a family that a rank is in; None for MPI_COMM_NULL and where it is in none."""
        if (family, rank) not in self._known:
            self._known[family, rank] = self._make(family, rank)
        return self._known[family, rank]

    def _make(self, family: int, rank: int) -> CommScope | None:
        try:
            comm = self._trace.communicator(family, rank)
        except FormatError:
            return None
        everyone = (*comm.members, *(comm.remote or ()))
        peers = tuple(comm.peers)
        if everyone not in self._members:
            ranks = self._trace.ranks
            inside = frozenset(r for r in everyone if r != UNDEFINED and r in ranks)
            self._members[everyone] = tuple(sorted(inside)), inside
        if peers not in self._numbers:
            self._numbers[peers] = {rank: i for i, rank in enumerate(peers)}
        members, inside = self._members[everyone]
        return (
            CommScope((family, members[0]), members, inside, comm, self._numbers[peers]) if members else None
        )
