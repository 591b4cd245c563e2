"""Traces of calls with given times, by the compressor and the merge that recording uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scalatrace import Trace, load
from scalatrace.convert.ranks import RankCalls, write_trace
from scalatrace.trace.model.tables import Kind
from support.builder import DOUBLE

KINDS = {"comm": Kind.COMM, "newcomm": Kind.COMM, "dest": Kind.PEER, "source": Kind.PEER}
KINDS |= {"dims": Kind.ARRAY, "periods": Kind.ARRAY, "datatype": Kind.TYPE}


class Timed(NamedTuple):
    """A call: computation before it and time in it (ns), parameters, and line of the program."""

    op: str
    compute_ns: float
    comm_ns: float
    line: int
    params: Mapping[str, Any]


def timed(op: str, compute_ns: float = 0, comm_ns: float = 0, line: int = 0, **params: Any) -> Timed:
    """Return a call; integers are counts, strings communicators."""
    return Timed(op, compute_ns, comm_ns, line, params)


def trace_of(
    path: Path,
    ranks: Sequence[Sequence[Timed]],
    comms: Mapping[str, tuple[str, Sequence[Sequence[int]]]] | None = None,
    meta: Mapping[str, str] | None = None,
) -> Trace:
    """Record the calls of all ranks, merge them, and read the trace.

    Args:
        comms: name -> kind, and the members of each communicator of the family.
    """

    def record(rank: int) -> RankCalls:
        calls = RankCalls(rank, len(ranks), ("compute_ns", "comm_ns"))
        calls.comm("self", "self", [rank])
        for ordinal, (name, (kind, instances)) in enumerate((comms or {}).items()):
            members = next((group for group in instances if rank in group), None)
            if members is not None:
                calls.comm(name, kind, members, ordinal=ordinal)
        for call in ranks[rank]:
            params = [(name, KINDS.get(name, Kind.INT), value) for name, value in call.params.items()]
            frames = (f"app.py:{call.line}:main",)
            calls.append(call.op, params, frames, (call.compute_ns, call.comm_ns))
        return calls

    write_trace(range(len(ranks)), record, path, {"program": "app.py", **(meta or {})})
    return load(path)


S = 1e9
"""ns in a second."""

COMMS: dict[str, tuple[str, Sequence[Sequence[int]]]] = {
    "grid": ("cart", [range(4)]),
    "rows": ("split", [(0, 1), (2, 3)]),
    "alone": ("split", [(0,), (1,), (2,), (3,)]),
}
"""Communicators of four ranks."""


GRID = {"ndims": 2, "dims": (2, 2), "periods": (0, 0), "reorder": 0}


def solver(
    rank: int, steps: int = 50, comm: str = "grid", load: float = 1.0, wait_s: float = 0.01
) -> list[Timed]:
    """A program with 2 s of imports and input, 1 s of MPI_Init and so on, and 0.5 s of output."""
    return [
        timed("Cart_create", 0.5 * S, 0.25 * S, 1, comm="world", **GRID, newcomm=comm),
        timed("Type_commit", 0, 0.5 * S, 2),
        timed("Bcast", (1.5 + 0.1 * rank) * S, 0.01 * S, 3, count=8, datatype=DOUBLE, root=0, comm=comm),
        *(step for _ in range(steps) for step in (
            timed("Type_size", 0.001 * S, 0, 4),
            timed("Allreduce", load * 0.1 * S, wait_s * S, 5, count=1, datatype=DOUBLE, comm=comm),
        )),
        timed("Comm_free", 0.375 * S, 0.125 * S, 6, comm=comm),
    ]  # fmt: skip


def uneven_solver() -> tuple[list[list[Timed]], dict[str, tuple[str, Sequence[Sequence[int]]]]]:
    """Return the calls of four ranks, of which rank 0 computes 16 times as much, and their communicators."""
    loads = (1.6, 0.1, 0.1, 0.1)
    return [solver(rank, load=load, wait_s=0.161 - load / 10) for rank, load in enumerate(loads)], COMMS


__all__ = ["COMMS", "S", "Timed", "solver", "timed", "trace_of", "uneven_solver"]
