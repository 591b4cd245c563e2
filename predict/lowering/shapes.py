"""Sizes of a collective call: an event of the trace to a `RoundShape`."""

from __future__ import annotations

from scalatrace.errors import FormatError
from scalatrace.operations import blocking_name
from scalatrace.predict.lowering.schedules import RoundShape
from scalatrace.predict.platform.algorithms import OPERATION_OF
from scalatrace.trace.exchange.type_sizes import member_sizes
from scalatrace.trace.model.call import Call

__all__ = ["shape_of"]

_NAMES = {**OPERATION_OF, "Gatherv": "gatherv", "Scatterv": "scatterv"}


def shape_of(call: Call) -> RoundShape | None:
    """Return the shape of a collective call; None for other operations and for intercommunicators."""
    name = _NAMES.get(base := blocking_name(call.op))
    comm = call.comm
    if name is None or comm.remote is not None or comm.rank < 0:
        return None
    rank, n = comm.rank, comm.size
    root = max(call.get("root", 0), 0)
    shape = RoundShape(name, rank, n, 0, root)
    match base:
        case "Barrier":
            return shape
        case "Gather" | "Scatter":
            inner = "recv" if (base == "Gather") == (rank == root) else "send"
            return shape._replace(nbytes=_block(call, inner))
        case "Gatherv":
            if rank == root:
                return shape._replace(recvs=_blocks(call, "recv"))
            return shape._replace(nbytes=_block(call, "send"))
        case "Scatterv":
            if rank == root:
                return shape._replace(sends=_blocks(call, "send"))
            return shape._replace(nbytes=_block(call, "recv"))
        case "Allgather" | "Alltoall":
            return shape._replace(nbytes=_block(call, "recv"))
        case "Allgatherv":
            return _listed(shape, None, _blocks(call, "recv"))
        case "Alltoallv" | "Alltoallw":
            recvs = _blocks(call, "recv")
            return _listed(shape, recvs if call.get("in_place", 0) == 1 else _blocks(call, "send"), recvs)
        case "Reduce_scatter":
            size = _size(call, "datatype")
            return _listed(shape, None, tuple(count * size for count in call["recvcounts"]))
        case "Reduce_scatter_block":
            return shape._replace(nbytes=call["recvcount"] * _size(call, "datatype"))
    return shape._replace(nbytes=max(call["count"], 0) * _size(call, "datatype"))


def _listed(shape: RoundShape, sends: tuple[int, ...] | None, recvs: tuple[int, ...]) -> RoundShape:
    """Add sizes that differ; the rules of algorithms count their mean."""
    total = max(sum(recvs), sum(sends or ()))
    return shape._replace(nbytes=total // max(shape.nranks, 1), sends=sends, recvs=recvs)


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
