"""`show --json` and `--csv`: the nodes of a trace as rows, and the events of its notation."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from typing import Any

from scalatrace.report import values
from scalatrace.report.style import ranks
from scalatrace.report.trees.selection import LeftOut, ShownNodes, TreeSelection
from scalatrace.trace.model.nodes import Event, Node, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import participants

__all__ = ["node_rows"]


def node_rows(trace: Trace, selection: TreeSelection | None = None) -> list[dict[str, Any]]:
    """Return a row per node in preorder, of the nodes that a selection shows.

    Keys: `node`, from 1; `parent`, 0 at the top; `depth`, from 1; `operation`, "" for a loop; `repeat`: trip
    count; `ranks` that take part; `parameters`; `stack`: frames, innermost first; `left_out`: nodes that are
    not shown.

    Raises:
        UsageError: the selection names a call site that the trace does not have.
    """
    choice, taking_part = ShownNodes(trace, selection or TreeSelection()), participants(trace)
    numbers = iter(range(1, trace.nnodes + 2))

    def below(nodes: AnySequence[Node], parent: int, depth: int) -> Iterator[dict[str, Any]]:
        for node in choice.children(nodes, depth):
            place = {"parent": parent, "depth": depth}
            if isinstance(node, LeftOut):
                yield {"node": None, **place, "left_out": node.nodes}
                continue
            number, who = next(numbers), taking_part[id(node)]
            repeat = values.repeat_of(node.repeat, who) or "1"
            facts = {"node": number, **place, "operation": "", "repeat": repeat, "ranks": ranks(who)}
            if isinstance(node, Event):
                facts["operation"] = trace.ops[node.op].name
                facts["parameters"] = dict(values.params(trace, node))
                facts["stack"] = list(trace.stack(node.signature))
            yield facts
            if isinstance(node, Sequence):
                yield from below(node.nodes, number, depth + 1)

    return list(below(trace.nodes, 0, 1))
