"""The parameters of an event node for every rank: stored values, peers as ranks of the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import UsageError
from scalatrace.executor.families import Families
from scalatrace.executor.fields import Classes, EngineQuantity, classes_of, constant, quantity
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.elastic import Elastic, Summary
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, UNDEFINED, Vec

__all__ = ["Parameters", "decode_world", "row_of"]


class Parameters:
    """The parameters of an event node, by classes of ranks.

    Attributes:
        names: parameter -> its position.
        kinds: parameter -> its kind.
        counts: disjoint sets of ranks with their executions.
    """

    def __init__(
        self,
        trace: Trace,
        families: Families,
        event: Event,
        counts: list[tuple[RankList, int]],
        purpose: str = "simulate",
    ) -> None:
        """`purpose`: what errors say that a missing parameter is needed for."""
        self._purpose = purpose
        self.trace, self.families, self.event, self.counts = trace, families, event, counts
        op = trace.ops[event.op]
        self.name = op.name
        self.names = {name: i for i, (name, _) in enumerate(op.params)}
        self.kinds = dict(op.params)

    def elastic(self, name: str) -> Elastic:
        """Return a parameter's value; of a peer, in its encoding.

        Raises:
            UsageError: it was recorded as a histogram, or not at all.
        """
        if name not in self.names:
            raise UsageError(f"cannot {self._purpose}: {self.name} was recorded without its parameter {name}")
        param = self.event.params[self.names[name]]
        value = param.value if isinstance(param, Peer) else param
        if isinstance(value, Summary):
            stack = self.trace.stack(self.event.signature)
            where = f" at {short_frame(stack[0])}" if stack else ""
            raise UsageError(
                f"cannot {self._purpose}: {name} of {self.name}{where} was recorded as a histogram; record "
                f"it again without --histograms for {name}"
            )
        return value

    def classes(self, *names: str) -> Classes:
        return classes_of({name: self.elastic(name) for name in names}, self.counts, self.trace.nprocs)

    def values(self, name: str) -> EngineQuantity:
        """Return a parameter as it is stored; 0 where the operation has none."""
        if name not in self.names:
            return constant(0)
        value = self.elastic(name)
        if isinstance(value, Vec) and value.constant is not None:  # most
            return constant(value.constant)
        return self.classes(name).derive([name], lambda values: values)

    def derived(self, names: list[str], function: Callable[..., Any]) -> EngineQuantity:
        return self.classes(*names).derive(names, function)

    def between_groups(self) -> bool:
        """Whether the communicator is an intercommunicator."""
        tables = self.families.tables
        comms = self.values("comm")
        return any(0 <= i < len(tables) and tables[i].is_inter for i in comms.distinct())

    def peer(self, name: str) -> EngineQuantity:
        """Return the world ranks of a peer."""
        param = self.event.params[self.names[name]]
        encoding = param.encoding if isinstance(param, Peer) else Encoding.ABSOLUTE
        comms = self.values("comm")
        tables = self.families.tables
        is_world = not comms.varies and comms.values is None and 0 <= comms.value < len(tables)
        is_world = is_world and tables[comms.value].instance is None
        stored = self.values(name)
        if is_world:
            stored.encoding = encoding
            return stored
        return self.world_peers(stored, encoding, comms)

    def world_peers(
        self, stored: EngineQuantity, encoding: Encoding, comms: EngineQuantity
    ) -> EngineQuantity:
        nprocs = self.trace.nprocs
        ranks = np.flatnonzero(_member_mask(self.counts, nprocs))
        if not stored.varies and not comms.varies:
            peers = np.full(nprocs, stored.value) if stored.values is None else stored.values
            family = np.full(nprocs, comms.value) if comms.values is None else comms.values
            world = np.full(nprocs, UNDEFINED, dtype=np.int64)
            world[ranks] = self.decoded(ranks, peers[ranks], family[ranks], encoding)
            return EngineQuantity(values=world)
        peers_of_calls, class_of = list[Ints](), np.full(nprocs, -1, dtype=np.int32)
        for ranks_of_count, count in self.counts:
            for rank in ranks_of_count:
                class_of[rank] = len(peers_of_calls)
                peers, family = (row_of(quantity, rank, count, nprocs) for quantity in (stored, comms))
                peers_of_calls.append(self.decoded(np.full(count, rank), peers, family, encoding))
        return quantity(class_of, peers_of_calls)

    def decoded(self, ranks: Ints, stored: Ints, family: Ints, encoding: Encoding) -> Ints:
        world = np.full(len(ranks), UNDEFINED, dtype=np.int64)
        tables = self.families.tables
        for number in np.unique(family).tolist():
            in_family = family == number
            if 0 <= number < len(tables):
                world[in_family] = tables[number].world_peers(ranks[in_family], stored[in_family], encoding)
        return world


def _member_mask(counts: Any, nprocs: int) -> Any:
    mask = np.zeros(nprocs, dtype=bool)
    for ranks, _ in counts:
        for start, stop in ranks.runs:
            mask[start:stop] = True
    return mask


def row_of(quantity: EngineQuantity, rank: int, count: int, nranks: int) -> Ints:
    """Return the first values of one rank, of ranks of the world decoded."""
    if quantity.class_of is not None and quantity.offsets is not None and quantity.pool is not None:
        number = quantity.class_of[rank]
        stored = np.resize(quantity.pool[quantity.offsets[number] : quantity.offsets[number + 1]], count)
    else:
        value = quantity.value if quantity.values is None else quantity.values[rank]
        stored = np.full(count, value, dtype=np.int64)
    return decode_world(stored, np.int64(rank), quantity.encoding, nranks)


def decode_world(peers: Ints, ranks: Any, encoding: Encoding, nranks: int) -> Ints:
    """Return the ranks of the world that stored values stand for; special ones stay."""
    if encoding is Encoding.ABSOLUTE:
        return peers
    if encoding is Encoding.RELATIVE:
        world = peers + ranks
    elif encoding is Encoding.MODULO:
        world = (peers + ranks) % nranks
    else:
        world = peers ^ ranks
    return np.where(peers < SPECIAL_MAX, peers, world)
