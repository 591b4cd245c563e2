"""Replace relative arrays in a trace by absolute ones, for consumers that compare values across ranks."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Summary, gather
from scalatrace.trace.model.nodes import Event, Node, Param
from scalatrace.trace.model.tables import IntArray, Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.query.walk import distinct_calls
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

__all__ = ["absolute"]


def absolute(trace: Trace) -> Trace:
    """Return the trace with an array per rank instead of each relative one; itself when it has none.

    Raises:
        FormatError: the trace contradicts itself.
    """
    if not any(array.relative for array in trace.arrays):
        return trace
    rewriter = _Absolute(trace)
    nodes = [rewriter.node(node) for node in trace.nodes]
    return replace(trace, nodes=nodes, arrays=rewriter.arrays)


class _Absolute:
    """Builder of the nodes and arrays of the new trace. Relative entries become empty, so indices stay."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.arrays = [IntArray(0, Vec(())) if array.relative else array for array in trace.arrays]
        self.known = {array: i for i, array in enumerate(trace.arrays) if not array.relative}
        self.runs = {id(event): classes for event, classes in executions(trace)}

    def node(self, node: Node) -> Node:
        if not isinstance(node, Event):
            return replace(node, nodes=tuple(self.node(child) for child in node.nodes))
        kinds = (kind for _, kind in self.trace.ops[node.op].params)
        params = tuple(
            self.param(node, i) if kind is Kind.ARRAY and not isinstance(param, Summary) else param
            for i, (kind, param) in enumerate(zip(kinds, node.params, strict=True))
        )
        return replace(node, params=params)

    def param(self, event: Event, position: int) -> Param:
        """Return a parameter of kind ARRAY with the absolute arrays of each rank."""
        indices: dict[int, list[int]] = {}
        for ranks, n in self.runs[id(event)]:
            for rank in ranks:
                indices[rank] = [
                    self.index(call.values[position], call)
                    for call, _ in distinct_calls(self.trace, event, rank, n)
                ]
        return gather(indices) if indices else event.params[position]

    def index(self, index: int, call: Call) -> int:
        if index < SPECIAL_MAX or not self.trace.arrays[index].relative:
            return index
        values = self.trace.array(index, call.place.own(call.values))
        array = IntArray(len(values), vec_of(values))
        if array not in self.known:
            self.known[array] = len(self.arrays)
            self.arrays.append(array)
        return self.known[array]
