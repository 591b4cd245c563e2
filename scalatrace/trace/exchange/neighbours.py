"""Neighbours of a rank in the topologies that it makes."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.errors import FormatError
from scalatrace.trace.exchange.type_sizes import member_sizes
from scalatrace.trace.model.call import Call
from scalatrace.trace.values.vec import PROC_NULL

__all__ = ["Neighbours", "neighbour_bytes"]

Lists = tuple[tuple[int, ...], tuple[int, ...]]
Grid = tuple[tuple[int, ...], tuple[int, ...]]


class Neighbours:
    """Sources and destinations by family of communicators, as ranks of the communicator."""

    def __init__(self) -> None:
        self._lists: dict[int, Lists] = {}
        self._grids: dict[int, Grid] = {}

    def of(self, family: int) -> Lists | None:
        """Return sources and destinations, in MPI's order; None where the topology is unknown."""
        return self._lists.get(family)

    def follow(self, call: Call) -> None:
        """Take a call that may make a communicator with a topology.

        Raises:
            FormatError: its arrays do not fit together.
        """
        new_comm = call.get("newcomm")
        if getattr(new_comm, "kind", "null") == "null":
            return
        if call.op == "Cart_create":
            dims, periods = call["dims"], call["periods"]
            _check(call, len(dims) == len(periods))
            self._keep_grid(new_comm.family, new_comm.rank, dims, periods)
        elif call.op == "Cart_sub" and call.family in self._grids:
            dims, periods = self._grids[call.family]
            _check(call, len(dims) == len(call["remain_dims"]))
            kept = [i for i, remains in enumerate(call["remain_dims"]) if remains]
            self._keep_grid(
                new_comm.family, new_comm.rank, [dims[i] for i in kept], [periods[i] for i in kept]
            )
        elif call.op == "Graph_create":
            index, edges = call["index"], call["edges"]
            _check(call, new_comm.rank < len(index))
            own_edges = edges[index[new_comm.rank - 1] if new_comm.rank else 0 : index[new_comm.rank]]
            self._lists[new_comm.family] = own_edges, own_edges
        elif call.op == "Dist_graph_create_adjacent":
            self._lists[new_comm.family] = call["sources"], call["destinations"]
        elif call.op.startswith(("Comm_dup", "Comm_idup")):
            if call.family in self._lists:
                self._lists[new_comm.family] = self._lists[call.family]
            if call.family in self._grids:
                self._grids[new_comm.family] = self._grids[call.family]

    def _keep_grid(self, family: int, rank: int, dims: Sequence[int], periods: Sequence[int]) -> None:
        self._grids[family] = tuple(dims), tuple(periods)
        neighbours = tuple(_around(rank, dims, periods))
        self._lists[family] = neighbours, neighbours


def _check(call: Call, fits: bool) -> None:
    if not fits:
        raise FormatError(f"the topology of {call.op} on rank {call.rank} contradicts itself")


def _around(rank: int, dims: Sequence[int], periods: Sequence[int]) -> list[int]:
    """Return the neighbours down and up in each dimension, PROC_NULL at a border."""
    result, stride = [], 1
    strides = []
    for size in reversed(dims):
        strides.append(stride)
        stride *= size
    for size, periodic, step in zip(dims, periods, reversed(strides), strict=True):
        at = rank // step % size
        for moved in (at - 1, at + 1):
            inside = 0 <= moved < size
            result.append(rank + (moved % size - at) * step if inside or periodic else PROC_NULL)
    return result


def neighbour_bytes(call: Call, side: str, degree: int) -> tuple[int, ...]:
    """Return the bytes to or from each neighbour."""
    datatype = call.get(f"{side}type")
    size = getattr(datatype, "size", 0)
    if f"{side}counts" not in call:
        return (max(call[f"{side}count"], 0) * size,) * degree
    counts = call[f"{side}counts"]
    _check(call, len(counts) == degree)
    if f"{side}types" in call:
        sizes = member_sizes(call[f"{side}types"])
        return tuple(max(n, 0) * nbytes for n, nbytes in zip(counts, sizes, strict=True))
    return tuple(max(n, 0) * size for n in counts)
