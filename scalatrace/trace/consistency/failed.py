"""Calls that returned an error.

X_error   it did something, as a receive whose message was too long: the parameters of X, and `error`
X_failed  it did nothing: `error` only, the name of the error's class
"""

from __future__ import annotations

from dataclasses import replace

from scalatrace.operations import ERROR, FAILED
from scalatrace.trace.model.nodes import Node, Sequence
from scalatrace.trace.model.tables import Op
from scalatrace.trace.model.trace import Trace

__all__ = ["DID_NOTHING", "WITH_ERRORS", "nfailed", "repeatable"]

DID_NOTHING, WITH_ERRORS = "failed", "with errors"
"""Names in a trace's table of counted calls, for both kinds."""


def nfailed(trace: Trace) -> int:
    """Return how many calls returned an error."""
    return trace.counts.get(DID_NOTHING, 0) + trace.counts.get(WITH_ERRORS, 0)


def repeatable(trace: Trace, keep_failed: bool = False) -> Trace:
    """Return the trace with what its failed calls did; itself where none failed.

    Calls that did something become calls of the operation itself. Those that did nothing are left out, with
    their times and those of the computation before them, unless `keep_failed`.
    """
    if not any(op.name.endswith((ERROR, FAILED)) for op in trace.ops):
        return trace
    ops = [op if op.name.endswith(FAILED) else _without_error(op) for op in trace.ops]
    numbers = {op.name: number for number, op in reversed(list(enumerate(ops)))}

    def plain(node: Node) -> list[Node]:
        if isinstance(node, Sequence):
            nodes = tuple(plain_node for child in node.nodes for plain_node in plain(child))
            return [replace(node, nodes=nodes)] if nodes else []
        op = ops[node.op]
        if op.name.endswith(FAILED):
            return [node] if keep_failed else []
        params = node.params[: len(op.params)]
        return [replace(node, op=numbers[op.name], params=params)] if op != trace.ops[node.op] else [node]

    return replace(trace, ops=ops, nodes=[kept for node in trace.nodes for kept in plain(node)])


def _without_error(op: Op) -> Op:
    return Op(op.name.removesuffix(ERROR), op.params[:-1]) if op.name.endswith(ERROR) else op
