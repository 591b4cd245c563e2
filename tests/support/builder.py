"""Traces by hand: events with their parameters as Python values, the tables made along the way."""

from __future__ import annotations

from collections.abc import Sequence as AnySequence
from dataclasses import dataclass, field, replace
from typing import Any

from scalatrace.trace.model.elastic import Elastic
from scalatrace.trace.model.nodes import Event, Node, Param, Peer, PredStats, Sequence, events
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype, Family, IntArray, Kind, Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec

BYTE = Datatype("MPI_BYTE", 1, 1)
DOUBLE = Datatype("MPI_DOUBLE", 8, 8)
INT = Datatype("MPI_INT", 4, 4)
PEERS = ("dest", "source", "target_rank", "rank")


@dataclass(frozen=True)
class Comm:
    """A parameter that is a communicator: its family."""

    family: int = 0


@dataclass(frozen=True)
class To:
    """A peer in an encoding."""

    encoding: Encoding
    value: Elastic


@dataclass
class Builder:
    """Collects tables; `event` and `loop` make nodes, `trace` the whole."""

    nprocs: int = 1
    trace: Trace = field(init=False)

    def __post_init__(self) -> None:
        self.trace = Trace(self.nprocs, meta={"program": "by hand"}, stats=[RecordedStat("compute_ns", 1.0)])

    def family(self, kind: str, sizes: AnySequence[int], members: AnySequence[int], parent: int = 0) -> Comm:
        """Add a family of communicators."""
        self.trace.comms.append(Family(kind, parent, vec_of(tuple(sizes)), vec_of(tuple(members))))
        return Comm(len(self.trace.comms) - 1)

    def site(self, *frames: str) -> int:
        """Add a call site, innermost frame first; its signature."""
        for frame in frames:
            if frame not in self.trace.frames:
                self.trace.frames.append(frame)
        signature = tuple(self.trace.frames.index(frame) for frame in frames)
        if signature not in self.trace.signatures:
            self.trace.signatures.append(signature)
        return self.trace.signatures.index(signature)

    def event(
        self,
        operation: str,
        /,
        repeat: Elastic | int = 1,
        at: AnySequence[str] = (),
        compute: Histogram | None = None,
        **params: Any,
    ) -> Event:
        """Make an event; parameters: int, str, tuple (an array), Datatype, Comm, To, or an Elastic."""
        stored = [self._param(name, value) for name, value in params.items()]
        schema = Op(operation, tuple((name, kind) for name, (kind, _) in zip(params, stored, strict=True)))
        if schema not in self.trace.ops:
            self.trace.ops.append(schema)
        stats = (PredStats(0, (compute,)),) if compute is not None else ()
        values = tuple(value for _, value in stored)
        return Event(
            _elastic(repeat), self.trace.ops.index(schema), self.site(*at) if at else 0, values, stats
        )

    def loop(self, repeat: Elastic | int, *nodes: Node) -> Sequence:
        """Make a loop."""
        return Sequence(_elastic(repeat), nodes)

    def of(self, *nodes: Node, every: bool = False) -> Trace:
        """Finish the trace. Computation is before events that are first calls only, or before every call."""
        self.trace.nodes.extend(nodes)
        self.trace.preds[:] = [START]
        if every:
            self.trace.preds += sorted({(event.op, event.signature) for event in events(self.trace.nodes)})
            self.trace.nodes[:] = map(self._after_all, self.trace.nodes)
        return self.trace

    def _after_all(self, node: Node) -> Node:
        if isinstance(node, Sequence):
            return replace(node, nodes=tuple(map(self._after_all, node.nodes)))
        npreds = len(self.trace.preds)
        return replace(node, stats=tuple(replace(one, pred=k) for one in node.stats for k in range(npreds)))

    def _param(self, name: str, value: Any) -> tuple[Kind, Param]:
        if isinstance(value, To):
            return Kind.PEER, Peer(value.encoding, value.value)
        if isinstance(value, Comm):
            return Kind.COMM, Vec(value.family)
        if isinstance(value, Datatype):
            return Kind.TYPE, Vec(_index(self.trace.types, value))
        if isinstance(value, str):
            return Kind.STRING, Vec(_index(self.trace.strings, value))
        if isinstance(value, tuple):
            return Kind.ARRAY, Vec(_index(self.trace.arrays, IntArray(len(value), vec_of(value))))
        if name in PEERS:
            return Kind.PEER, Peer(Encoding.ABSOLUTE, _elastic(value))
        return Kind.INT, _elastic(value)


def _elastic(value: Elastic | int) -> Elastic:
    return Vec(value) if isinstance(value, int) else value


def _index(table: list[Any], entry: Any) -> int:
    if entry not in table:
        table.append(entry)
    return table.index(entry)


def stencil() -> Trace:
    """Four ranks on a ring, ten steps, and a sum at the end."""
    b = Builder(4)
    each = Histogram(40, 1000, 3000, 2000, 10)
    steps = b.loop(
        10,
        b.event("Irecv", at=("src/halo.py:10:exchange", "app.py:5:main"),
                count=100, datatype=DOUBLE, source=To(Encoding.MODULO, Vec(-1)), tag=7, comm=Comm()),
        b.event("Isend", at=("src/halo.py:11:exchange", "app.py:5:main"), compute=each,
                count=100, datatype=DOUBLE, dest=To(Encoding.MODULO, Vec(1)), tag=7, comm=Comm()),
        b.event("Waitall", at=("src/halo.py:12:exchange", "app.py:5:main"), requests=(1, 0)),
    )  # fmt: skip
    total = b.event("Allreduce", at=("app.py:9:main",), count=1, datatype=DOUBLE, op="MPI_SUM", comm=Comm())
    return b.of(steps, total)


__all__ = ["BYTE", "DOUBLE", "INT", "Builder", "Comm", "To", "stencil"]
