"""Bytes of the blocks of a collective call, as one member knows them."""

from __future__ import annotations

from typing import NamedTuple

from scalatrace.errors import FormatError
from scalatrace.operations import blocking_name, operation
from scalatrace.trace.exchange.type_sizes import member_sizes
from scalatrace.trace.model.call import Call

__all__ = ["CollectiveBlocks", "collective_blocks"]


class CollectiveBlocks(NamedTuple):
    """Blocks of a collective call.

    Attributes:
        nbytes: of the vector, or of each member's block; where sizes differ and are known, their mean.
        sends, recvs: bytes to and from each member, where they differ and this member knows them.
    """

    nbytes: int = 0
    sends: tuple[int, ...] | None = None
    recvs: tuple[int, ...] | None = None

    @property
    def mean_nbytes(self) -> float:
        """Mean bytes of the received blocks."""
        return sum(self.recvs) / len(self.recvs) if self.recvs else float(self.nbytes)


def collective_blocks(call: Call) -> CollectiveBlocks:
    """Return the blocks of a collective call within one group.

    Raises:
        FormatError: a call has other numbers of counts and of datatypes.
    """
    base, comm = blocking_name(call.op), call.comm
    if block := operation(call.op).equal_block:
        return CollectiveBlocks(block.nbytes(call))
    is_root = comm.rank == max(call.get("root", 0), 0)
    match base:
        case "Gather" | "Scatter":
            return CollectiveBlocks(_block(call, "recv" if (base == "Gather") == is_root else "send"))
        case "Gatherv":
            if is_root:
                return CollectiveBlocks(recvs=_blocks(call, "recv"))
            return CollectiveBlocks(_block(call, "send"))
        case "Scatterv":
            if is_root:
                return CollectiveBlocks(sends=_blocks(call, "send"))
            return CollectiveBlocks(_block(call, "recv"))
        case "Allgatherv":
            return _of_lists(None, _blocks(call, "recv"), comm.size)
        case "Alltoallv" | "Alltoallw":
            recvs = _blocks(call, "recv")
            sends = recvs if call.get("in_place", 0) == 1 else _blocks(call, "send")
            return _of_lists(sends, recvs, comm.size)
        case "Reduce_scatter":
            size = _size(call, "datatype")
            return _of_lists(None, tuple(count * size for count in call["recvcounts"]), comm.size)
    return CollectiveBlocks()


def _of_lists(sends: tuple[int, ...] | None, recvs: tuple[int, ...], nranks: int) -> CollectiveBlocks:
    total = max(sum(recvs), sum(sends or ()))
    return CollectiveBlocks(total // max(nranks, 1), sends, recvs)


def _size(call: Call, name: str) -> int:
    return int(getattr(call.get(name), "size", 0))  # a special value is no datatype


def _block(call: Call, side: str) -> int:
    return max(int(call.get(f"{side}count", 0)), 0) * _size(call, f"{side}type")


def _blocks(call: Call, side: str) -> tuple[int, ...]:
    counts = call[f"{side}counts"]
    if f"{side}types" in call:
        sizes = member_sizes(call[f"{side}types"])
        if len(sizes) != len(counts):
            raise FormatError(
                f"{call.op} of rank {call.rank} has {len(counts)} {side}counts, but {len(sizes)} {side}types"
            )
        return tuple(max(n, 0) * size for n, size in zip(counts, sizes, strict=True))
    size = _size(call, f"{side}type")
    return tuple(max(n, 0) * size for n in counts)
