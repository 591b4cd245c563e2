"""Traces of calls with given times, by the compressor and the merge that recording uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scalatrace import Trace, load
from scalatrace.convert.ranks import RankCalls, write_trace
from scalatrace.trace.model.tables import Kind

KINDS = {"comm": Kind.COMM, "newcomm": Kind.COMM, "dest": Kind.PEER, "source": Kind.PEER}


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


__all__ = ["Timed", "timed", "trace_of"]
