"""Choose the nodes of a tree to show: by call site, by depth, or the costliest of each loop."""

from __future__ import annotations

from collections.abc import Sequence as AnySequence
from dataclasses import dataclass

from scalatrace.errors import UsageError
from scalatrace.report.style import duration, number, percent
from scalatrace.trace.model.nodes import Event, Node, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.query.load import COMM, COMPUTE

__all__ = ["LeftOut", "NodeChoice", "NodeSelection"]


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """What to show of a tree.

    Attributes:
        depth: levels of nodes; None: all.
        top: nodes of each sequence, those with most time (or calls, without recorded times); None: all.
        at: a part of the call site or operation of the events; None: all.
    """

    depth: int | None = None
    top: int | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Nodes of a sequence that are not shown; they are counted after the shown ones.

    Attributes:
        nodes: how many, with those inside them.
        share: of the cost of all, "" where it is not known.
    """

    nodes: int
    share: str = ""

    def __str__(self) -> str:
        share = f", {self.share}" if self.share else ""
        return f"… {number(self.nodes)} node{'s' * (self.nodes != 1)} not shown{share}"


class NodeChoice:
    """The nodes of a trace that a selection shows."""

    def __init__(self, trace: Trace, selection: NodeSelection) -> None:
        """Raises UsageError if no event is at the wanted call site."""
        self.trace, self.selection = trace, selection
        self.matching = set[int]()
        if selection.at is not None and not sum(map(self._match, trace.nodes)):
            raise UsageError(
                f"no operation or frame of a call site contains {selection.at!r}; "
                "`scalatrace stats --by site` lists them"
            )
        self.costs: dict[int, float] = {}
        self.is_time = COMM in trace.stat_index or COMPUTE in trace.stat_index
        self.whole = self._measure() if selection.top is not None else 0.0

    def children(self, nodes: AnySequence[Node], level: int) -> list[Node | LeftOut]:
        """The nodes to show of a sequence, in order; `level` is 1 for root nodes."""
        selection = self.selection
        if selection.at is not None:
            nodes = [node for node in nodes if id(node) in self.matching]
        if selection.depth is not None and level > selection.depth:
            return [self._left_out(nodes)]
        if selection.top is None or len(nodes) <= selection.top:
            return list(nodes)
        by_cost = sorted(nodes, key=lambda node: -self.costs[id(node)])
        kept = {id(node) for node in by_cost[: selection.top]}
        result: list[Node | LeftOut] = [node for node in nodes if id(node) in kept]
        return [*result, self._left_out([node for node in nodes if id(node) not in kept])]

    def cost(self, node: Node) -> str:
        """The cost of a node on all ranks, and its share; "" if it is not wanted."""
        if self.selection.top is None:
            return ""
        cost = self.costs[id(node)]
        text = duration(cost) if self.is_time else f"{number(cost)} calls"
        return f"{text} ({percent(cost, self.whole)})"

    def _left_out(self, nodes: AnySequence[Node]) -> LeftOut:
        cost = sum(self.costs.get(id(node), 0.0) for node in nodes)
        return LeftOut(sum(map(_count, nodes)), percent(cost, self.whole) if self.costs else "")

    def _match(self, node: Node) -> bool:
        """Mark the nodes with a matching event; whether this is one."""
        if isinstance(node, Event):
            texts = (self.trace.ops[node.op].name, *self.trace.stack(node.signature))
            matches = any(self.selection.at in text for text in texts if self.selection.at is not None)
        else:
            matches = sum(map(self._match, node.nodes)) > 0  # of all, so that each is marked
        if matches:
            self.matching.add(id(node))
        return matches

    def _measure(self) -> float:
        """Set the costs of all nodes, in nanoseconds or calls of all ranks; return their sum."""
        if self.is_time:
            times = ((i, stat) for i, stat in enumerate(self.trace.stats) if stat.name in (COMM, COMPUTE))
            units = [(i, stat.resolution) for i, stat in times]
            for event in self.trace.leaves():
                self.costs[id(event)] = sum(_time(event, i, unit) for i, unit in units)
        else:
            for event, classes in executions(self.trace):
                self.costs[id(event)] = sum(len(ranks) * n for ranks, n in classes)
        return sum(map(self._add, self.trace.nodes))

    def _add(self, node: Node) -> float:
        if isinstance(node, Sequence):
            self.costs[id(node)] = sum(map(self._add, node.nodes))
        return self.costs.setdefault(id(node), 0.0)


def _time(event: Event, index: int, unit: float) -> float:
    """The sum of a statistic of an event on all ranks, in nanoseconds."""
    return sum(histogram.total * unit for _, histogram in event.histograms_by_pred(index))


def _count(node: Node) -> int:
    return 1 + (sum(map(_count, node.nodes)) if isinstance(node, Sequence) else 0)
