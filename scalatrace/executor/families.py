"""Communicators as the simulator reads them: instance and position of each rank, members of each instance."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Ints
from scalatrace.executor import binding
from scalatrace.executor.fields import pointer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import SPECIAL_MAX, UNDEFINED

__all__ = ["Families", "FamilyTable"]


@dataclass
class FamilyTable:
    """The communicators that one collective call made.

    Attributes:
        instance, position: [nranks] of each rank, -1: none; None: all ranks, in their order.
        offsets: [instances + 1] into members, the world ranks.
        peer_offsets, peers: of the remote groups of intercommunicators, else equal to these.
        everyone: the members that make collective calls, if these are others: both groups, of ranks that the
            trace has.
    """

    instance: NDArray[np.int32] | None
    position: NDArray[np.int32] | None
    offsets: Ints
    members: NDArray[np.int32]
    peer_offsets: Ints
    peers: NDArray[np.int32]
    is_inter: bool = False
    everyone: FamilyTable | None = None

    def c_struct(self) -> binding.EngineFamily:
        """Return the C structure. It is valid while this object lives."""
        if self.everyone is not None:
            return self.everyone.c_struct()
        family = binding.EngineFamily(ninstances=len(self.offsets) - 1)
        family.offsets = pointer(self.offsets, ctypes.c_int64)
        family.members = pointer(self.members, ctypes.c_int32)
        if self.instance is not None and self.position is not None:
            family.instance = pointer(self.instance, ctypes.c_int32)
            family.position = pointer(self.position, ctypes.c_int32)
        return family

    def world_peers(self, ranks: Ints, stored: Ints, encoding: Encoding) -> Ints:
        """Return the world ranks of stored peers, one for each caller; special values stay.

        Args:
            ranks: world ranks of the callers.
            stored: of each, the value in its encoding.
        """
        special = stored < SPECIAL_MAX
        if self.instance is None or self.position is None:
            start = np.zeros(len(ranks), dtype=np.int64)
            own_ranks, size = ranks, start + len(self.members)
        else:
            instance = self.instance[ranks]
            stored = np.where(special | (instance >= 0), stored, UNDEFINED)
            special = special | (instance < 0)
            own_ranks = self.position[ranks].astype(np.int64)
            start = self.peer_offsets[instance]
            size = self.peer_offsets[instance + 1] - start
        peer = stored.copy()
        if encoding is Encoding.RELATIVE:
            peer = stored + own_ranks
        elif encoding is Encoding.MODULO:
            peer = (stored + own_ranks) % np.maximum(size, 1)
        elif encoding is Encoding.XOR:
            peer = stored ^ own_ranks
        inside = ~special & (peer >= 0) & (peer < size)
        at = np.where(inside, start + np.where(inside, peer, 0), 0)
        world = self.peers[at] if len(self.peers) else at
        return np.where(inside, world, np.where(special, stored, UNDEFINED))


class Families:
    """The families of a trace. The first is MPI_COMM_WORLD."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.tables = [self._table(i) for i in range(len(trace.comms))]

    @cached_property
    def c_array(self) -> ctypes.Array[binding.EngineFamily]:
        """The C structures of all families."""
        return (binding.EngineFamily * max(len(self.tables), 1))(*(table.c_struct() for table in self.tables))

    def _table(self, index: int) -> FamilyTable:
        trace, nprocs = self._trace, self._trace.nprocs
        kind = trace.comms[index].kind
        if kind == "world":
            members, offsets = np.arange(nprocs, dtype=np.int32), np.array([0, nprocs], dtype=np.int64)
            table = FamilyTable(None, None, offsets, members, offsets, members)
            if len(trace.ranks) < nprocs:
                table.everyone = self._make_table([tuple(trace.ranks)], None)
            return table
        if kind == "self":
            members = np.arange(nprocs, dtype=np.int32)
            offsets = np.arange(nprocs + 1, dtype=np.int64)
            return FamilyTable(members, np.zeros(nprocs, dtype=np.int32), offsets, members, offsets, members)
        if kind == "null":
            return self._make_table([], None)
        layout = trace.layout(index)
        return self._make_table(layout.groups, layout.remote)

    def _make_table(self, groups: list[tuple[int, ...]], remote: list[tuple[int, ...]] | None) -> FamilyTable:
        nprocs = self._trace.nprocs
        instance, position = np.full(nprocs, -1, dtype=np.int32), np.full(nprocs, -1, dtype=np.int32)
        offsets, members = _flat(groups)
        number = np.repeat(np.arange(len(groups)), np.diff(offsets))
        place = np.arange(len(members)) - offsets[number] if len(members) else np.zeros(0)
        is_member = members != UNDEFINED
        instance[members[is_member]], position[members[is_member]] = number[is_member], place[is_member]
        peer_offsets, peers = (offsets, members) if remote is None else _flat(remote)
        table = FamilyTable(instance, position, offsets, members, peer_offsets, peers, remote is not None)
        ranks = self._trace.ranks
        if remote is not None or not all(rank in ranks for rank in members.tolist()):
            far = [()] * len(groups) if remote is None else remote
            joined = (sorted({*group, *other}) for group, other in zip(groups, far, strict=True))
            in_trace = dict.fromkeys(tuple(rank for rank in group if rank in ranks) for group in joined)
            table.everyone = self._make_table(list(in_trace), None)
        return table


def _flat(groups: list[tuple[int, ...]]) -> tuple[Ints, NDArray[np.int32]]:
    offsets = np.concatenate(([0], np.cumsum([len(group) for group in groups], dtype=np.int64)))
    members = np.array([rank for group in groups for rank in group], dtype=np.int64)
    return offsets.astype(np.int64), members.astype(np.int32)
