"""Decode a peer (absolute, relative, modulo, xor) to a rank of its communicator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scalatrace.codegen.program.communicators import own_rank, peer_count
from scalatrace.codegen.program.conditions import rank_variable
from scalatrace.codegen.program.split_special import separate
from scalatrace.errors import FormatError
from scalatrace.formula import (
    Binary,
    Const,
    Expr,
    Item,
    add,
    bounds,
    map_leaves,
    mentions,
    mod,
    mul,
    xor,
)
from scalatrace.trace.model.nodes import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import SPECIAL_MAX

__all__ = ["SELF", "WORLD", "Peers", "decoder"]

WORLD, SELF = Const(0), Const(1)
"""The numbers of the communicators that every program has."""


class Peers:
    """Ranks of one trace's peers as expressions."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def of(self, encoding: Encoding, stored: Expr, family: Expr) -> Expr:
        """The rank in the communicator that a stored value stands for."""
        if encoding is Encoding.ABSOLUTE:
            return stored
        own = self.own(family)
        if (table := self.absolute(stored, encoding, family)) is not None:
            return table

        decoded = decoder(encoding, own, lambda distance: self.modulo(own, distance, family))
        return map_leaves(stored, decoded)

    def absolute(self, stored: Expr, encoding: Encoding, family: Expr) -> Expr | None:
        """A table with special values and a row for each rank, decoded here; None for anything else."""
        if not (isinstance(stored, Item) and isinstance(family, Const) and min(stored.table) < SPECIAL_MAX):
            return None
        rank = rank_variable(self.trace.nprocs)
        for width in (n for n in range(1, len(stored.table) + 1) if len(stored.table) % n == 0):
            rest = add(stored.index, mul(rank, Const(-width)))
            limits = bounds(rest)
            if limits is None or limits[0] < 0 or limits[1] >= width or mentions(rest, rank):
                continue
            return Item(tuple(self.decode(stored.table, width, encoding, family.value)), stored.index)
        return None

    def decode(self, table: tuple[int, ...], width: int, encoding: Encoding, family: int) -> Iterator[int]:
        """The peers of a table with a row for each rank."""
        for rank in range(len(table) // width):
            try:
                comm = self.trace.communicator(family, rank)
            except FormatError:  # a rank that does not make the call
                yield from table[rank * width : (rank + 1) * width]
                continue
            size = max(len(comm.peers), 1)
            yield from (encoding.decode(v, comm.rank, size) for v in table[rank * width : (rank + 1) * width])

    def own(self, family: Expr) -> Expr:
        """This process's rank in the communicator."""
        if family == WORLD:
            return rank_variable(self.trace.nprocs)
        return Const(0) if family == SELF else own_rank(family)

    def modulo(self, own: Expr, distance: Expr, family: Expr) -> Expr:
        """The rank so far away, around the ring."""
        if family == WORLD:
            return mod(add(own, distance), self.trace.nprocs)
        size = peer_count(family)
        low = bounds(distance)
        if low and low[0] < 0:
            distance = add(distance, size)
        return Binary("%", add(own, distance), size)


def decoder(encoding: Encoding, own: Expr, modulo: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    """Return the function that decodes a stored peer; constants of MPI stay.

    Args:
        own: this process's rank in the communicator.
        modulo: gives the rank at a distance around the ring.
    """

    def decoded(leaf: Expr) -> Expr:
        if isinstance(leaf, Const) and leaf.value < SPECIAL_MAX:
            return leaf
        if isinstance(leaf, Item) and min(leaf.table) < SPECIAL_MAX:
            return separate(leaf, decoded)
        if encoding is Encoding.RELATIVE:
            return add(own, leaf)
        return modulo(leaf) if encoding is Encoding.MODULO else xor(own, leaf)

    return decoded
