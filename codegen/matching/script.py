"""A trace cut down to what decides which calls meet, and each rank's calls in it, loop by loop.

Only peers, tags, communicators, roots and requests are left, so a loop in which sizes change is steady all
the same. A *steady* loop stands at the top of the tree, all ranks run it equally often, and every iteration of
a rank is like its others: what happens in it need not be found out again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scalatrace.trace.counting import executions, executions_of
from scalatrace.trace.elastic import Columns, Elastic, Value
from scalatrace.trace.nodes import Event, Node, Peer, Sequence
from scalatrace.trace.tables import Op
from scalatrace.trace.trace import Trace
from scalatrace.trace.values import Vec
from scalatrace.trace.walk import Call, walk

__all__ = ["Edge", "Script", "cut_down"]

_KEPT = frozenset(
    "dest source tag sendtag recvtag comm root request requests index message win fh newcomm".split()
)
MOST_KEPT = 50_000
"""Calls of one rank and iteration that are kept in memory; a loop with more is walked like anything else."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Where an iteration of a steady loop begins: iteration `turn` (from 0) of `turns`, or `turns`: its end."""

    loop: int
    turn: int
    turns: int


def cut_down(trace: Trace) -> tuple[Trace, dict[int, Event]]:
    """The trace with the parameters that decide matches only; id(its event) -> the event it was made from."""
    positions = [[i for i, (name, _) in enumerate(op.params) if name in _KEPT] for op in trace.ops]
    ops = [Op(op.name, tuple(op.params[i] for i in at)) for op, at in zip(trace.ops, positions, strict=True)]
    origin: dict[int, Event] = {}

    def cut(node: Node) -> Node:
        if isinstance(node, Sequence):
            return Sequence(node.repeat, tuple(map(cut, node.nodes)))
        made = replace(node, params=tuple(node.params[i] for i in positions[node.op]), stats=())
        origin[id(made)] = node
        return made

    return replace(trace, ops=ops, nodes=list(map(cut, trace.nodes)), load=[]), origin


class Script:
    """What each rank calls. `skip` makes a steady loop shorter for whoever asks for its next iteration."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.turns = {i: n for i, node in enumerate(trace.nodes) if (n := _steady(trace, node)) > 2}
        bodies = [node.nodes if i in self.turns else (node,) for i, node in enumerate(trace.nodes)]  # type: ignore[union-attr]
        self._parts = [_only(trace, list(body)) for body in bodies]
        self._skips: dict[tuple[int, int], int] = {}

    def skip(self, edge: Edge, to: int) -> None:
        """Let all ranks, which stand at an edge, go on with iteration `to`."""
        self._skips[edge.loop, edge.turn] = to

    def of(self, rank: int) -> Iterator[Call | Edge]:
        """The calls of a rank, with edges between the iterations of steady loops."""
        for i, part in enumerate(self._parts):
            yield from self._loop(i, part, rank) if i in self.turns else walk(part, rank)

    def _loop(self, loop: int, body: Trace, rank: int) -> Iterator[Call | Edge]:
        calls, turn, turns = list(walk(body, rank)), 0, self.turns[loop]
        while turn < turns:
            yield Edge(loop, turn, turns)
            turn = self._skips.get((loop, turn), turn)
            if turn < turns:
                yield from calls
            turn += 1
        if turn == turns:
            yield Edge(loop, turns, turns)


def _only(trace: Trace, nodes: list[Node]) -> Trace:
    """The trace with these nodes alone; what it knows of communicators is shared."""
    part = replace(trace, nodes=nodes)
    part._layouts, part._communicators, part._arrays = trace._layouts, trace._communicators, trace._arrays
    return part


def _steady(trace: Trace, node: Node) -> int:
    """How often all ranks run a steady loop; 0 when it is none."""
    if not isinstance(node, Sequence) or not isinstance(node.repeat, Vec):
        return 0
    if node.repeat.length not in (None, 1) or any(not _constant(value) for value in _values(node.nodes)):
        return 0
    body = _only(trace, list(node.nodes))
    if max((sum(n for _, n in executions_of(body, rank)) for rank in _busiest(body)), default=0) > MOST_KEPT:
        return 0
    return node.repeat.first(1)[0]


def _busiest(trace: Trace) -> set[int]:
    """Some ranks of which one has most calls, or nearly."""
    return {ranks.first for _, classes in executions(trace) for ranks, _ in classes}


def _values(nodes: tuple[Node, ...]) -> Iterator[Value]:
    for node in nodes:
        yield node.repeat
        if isinstance(node, Sequence):
            yield from _values(node.nodes)
        else:
            yield from (param.value if isinstance(param, Peer) else param for param in node.params)


def _constant(value: Value) -> bool:
    """Whether each rank has one value throughout."""
    if isinstance(value, Vec):
        return value.constant is not None
    if isinstance(value, Columns):
        return True
    groups: Elastic | None = value if not hasattr(value, "histogram") else None  # type: ignore[assignment]
    return groups is not None and all(vec.constant is not None for _, vec in groups.groups)  # type: ignore[union-attr]
