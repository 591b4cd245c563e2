"""Decode a peer (absolute, relative, modulo, xor) to a rank of its communicator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scalatrace.codegen.program.communicators import own_rank, peer_count
from scalatrace.codegen.program.conditions import rank_variable
from scalatrace.errors import FormatError
from scalatrace.formula import (
    Binary,
    Const,
    Expr,
    Item,
    Lookup,
    Special,
    Value,
    add,
    bounds,
    entry,
    map_leaves,
    mentions,
    mod,
    mul,
    xor,
)
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace

__all__ = ["SELF", "WORLD", "ProgramPeers", "decoder"]

WORLD, SELF = Const(0), Const(1)
"""The numbers of the communicators that every program has."""


class ProgramPeers:
    """Ranks of one trace's peers as expressions."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def of(self, encoding: Encoding, stored: Value, family: Expr) -> Value:
        """The rank in the communicator that a stored value stands for."""
        if encoding is Encoding.ABSOLUTE:
            return stored
        rank_expr = self.own(family)
        if (table := self.absolute(stored, encoding, family)) is not None:
            return table

        decoded = decoder(encoding, rank_expr, lambda distance: self.modulo(rank_expr, distance, family))
        return map_leaves(stored, decoded)

    def absolute(self, stored: Value, encoding: Encoding, family: Expr) -> Value | None:
        """A table with a row for each rank, decoded here; None for anything else."""
        if not (isinstance(stored, Item | Lookup) and isinstance(family, Const)):
            return None
        rank = rank_variable(self.trace.nprocs)
        for width in (n for n in range(1, len(stored.table) + 1) if len(stored.table) % n == 0):
            offset = add(stored.index, mul(rank, Const(-width)))
            limits = bounds(offset)
            if limits is None or limits[0] < 0 or limits[1] >= width or mentions(offset, rank):
                continue
            return entry(list(self.decode(stored.table, width, encoding, family.value)), stored.index)
        return None

    def decode(
        self, table: tuple[int | Special, ...], width: int, encoding: Encoding, family: int
    ) -> Iterator[int | Special]:
        """The peers of a table with a row for each rank."""
        for rank in range(len(table) // width):
            try:
                comm = self.trace.communicator(family, rank)
            except FormatError:  # a rank that does not make the call
                yield from table[rank * width : (rank + 1) * width]
                continue
            size = max(len(comm.peers), 1)
            for value in table[rank * width : (rank + 1) * width]:
                yield value if isinstance(value, Special) else encoding.decode(value, comm.rank, size)

    def own(self, family: Expr) -> Expr:
        """This process's rank in the communicator."""
        if family == WORLD:
            return rank_variable(self.trace.nprocs)
        return Const(0) if family == SELF else own_rank(family)

    def modulo(self, rank_expr: Expr, distance: Expr, family: Expr) -> Expr:
        """The rank so far away, around the ring."""
        if family == WORLD:
            return mod(add(rank_expr, distance), self.trace.nprocs)
        size = peer_count(family)
        low = bounds(distance)
        if low and low[0] < 0:
            distance = add(distance, size)
        return Binary("%", add(rank_expr, distance), size)


def decoder(encoding: Encoding, own_rank: Expr, modulo: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    """Return the function that decodes a stored peer.

    Args:
        own_rank: this process's rank in the communicator.
        modulo: gives the rank at a distance around the ring.
    """

    def decoded(leaf: Expr) -> Expr:
        if encoding is Encoding.RELATIVE:
            return add(own_rank, leaf)
        return modulo(leaf) if encoding is Encoding.MODULO else xor(own_rank, leaf)

    return decoded
