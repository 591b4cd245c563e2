"""Traces of a program that sends many small messages in each step, with times by hand."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.trace.model.nodes import Node, PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.query.counting import executions, total_calls
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To

__all__ = ["LONG_NS", "NRANKS", "P2P", "STEPS", "exchange", "measured"]

P2P = {"datatype": DOUBLE, "tag": 1, "comm": Comm()}
NRANKS = 4
STEPS = 10
LONG_NS = 2_000_000


def exchange(repeats: int, doubles: int = 1) -> Trace:
    """Each step: messages to the next rank, one after another, then a long computation and a barrier."""
    b = Builder(NRANKS)
    to_next = b.event("Send", at=("a.py:7:send", "a.py:20:main"), count=doubles, **P2P,
                      dest=To(Encoding.MODULO, Vec(1)))  # fmt: skip
    receive = b.event("Recv", at=("a.py:8:send", "a.py:20:main"), count=doubles, **P2P,
                      source=To(Encoding.MODULO, Vec(-1)))  # fmt: skip
    end = b.event("Barrier", at=("a.py:22:main",), comm=Comm())
    return b.of(b.loop(STEPS, b.loop(repeats, to_next, receive), end))


def measured(trace: Trace, gaps_ns: dict[str, int] | None = None, comm_ns: int = 3_000) -> Trace:
    """Give all calls the same time; `gaps_ns`: operation -> computation before it, if not 1 µs."""
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    first = next(trace.leaves())
    trace.preds = [START, (first.op, first.signature)]
    for table in ("pred_index", "stat_index"):
        trace.__dict__.pop(table, None)
    calls = {id(event): total_calls(counts) for event, counts in executions(trace)}

    def with_times(node: Node) -> Node:
        if isinstance(node, Sequence):
            return replace(node, nodes=tuple(map(with_times, node.nodes)))
        gap = (gaps_ns or {"Barrier": LONG_NS}).get(trace.ops[node.op].name, 1_000)
        shortest = {gap: gap, comm_ns: comm_ns // 2}
        pair = tuple(Histogram(calls[id(node)], shortest[ns], ns, ns, 0, ()) for ns in (gap, comm_ns))
        return replace(node, stats=(PredStats(1, pair),))

    trace.nodes = [with_times(node) for node in trace.nodes]
    return trace
