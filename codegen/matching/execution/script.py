"""A trace cut down to what decides which calls meet, and each rank's calls in it, loop by loop.

Only peers, tags, communicators, roots and requests are left, so a loop in which sizes change is steady all
the same. A *steady* loop stands at the top of the tree, all ranks run it equally often, and every iteration
of a rank is like its others: what happens in it need not be found out again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from scalatrace.codegen.matching.execution.iteration_path import IterationPath, calls_with_paths
from scalatrace.codegen.matching.execution.match_actions import is_inert
from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Event, Node, Param, Peer, Sequence
from scalatrace.trace.model.tables import Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions, executions_of
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.vec import Vec

__all__ = ["LoopEdge", "Script", "ScriptStep", "When", "cut_down"]

When = tuple[tuple[int, int], IterationPath]
"""When a call is made, in the order of the program's text: (first root node of its part, iteration of a
steady loop), place in the part."""

ScriptStep = tuple[When, Call]

_KEPT = frozenset(
    [
        "dest",
        "source",
        "tag",
        "sendtag",
        "recvtag",
        "comm",
        "root",
        "request",
        "requests",
        "index",
        "message",
        "win",
        "fh",
        "newcomm",
    ]
)
MIN_ITERATIONS = 3
"""Loops of so few iterations are executed like anything else."""

MAX_COMPARED_VALUES = 200_000
"""Values of one parameter that are compared between iterations."""

MAX_KEPT_CALLS = 50_000
"""Calls of one rank and iteration that are kept in memory; a loop with more is walked like anything else."""


@dataclass(frozen=True, slots=True)
class LoopEdge:
    """Where an iteration of a steady loop begins: `turn` from 0, and `turns` for the end of the last."""

    loop: int
    iteration: int
    iterations: int


def cut_down(trace: Trace) -> tuple[Trace, dict[int, Event]]:
    """The trace with the calls and parameters that decide matches; id(its event) -> the original event.

    One-sided communication, say, sends and receives nothing that another call waits for.
    """
    positions = [[i for i, (name, _) in enumerate(op.params) if name in _KEPT] for op in trace.ops]
    inert = frozenset(i for i, op in enumerate(trace.ops) if is_inert(op.name))
    ops = [Op(op.name, tuple(op.params[i] for i in at)) for op, at in zip(trace.ops, positions, strict=True)]
    origin: dict[int, Event] = {}

    def cut_all(nodes: Iterable[Node]) -> list[Node]:
        return [result for node in nodes if (result := cut(node)) is not None]

    def cut(node: Node) -> Node | None:
        if isinstance(node, Sequence):
            inner = tuple(cut_all(node.nodes))
            return Sequence(node.repeat, inner) if inner else None
        if node.op in inert:
            return None
        result = replace(node, params=tuple(node.params[i] for i in positions[node.op]), stats=())
        origin[id(result)] = node
        return result

    return replace(trace, ops=ops, nodes=cut_all(trace.nodes), load=[]), origin


class Script:
    """What each rank calls. `skip` makes a steady loop shorter for whoever asks for its next iteration."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.iterations = {i: n for i, node in enumerate(trace.nodes) if (n := _steady(trace, node))}
        self._parts = dict(self._split(trace))
        self._skips: dict[tuple[int, int], int] = {}

    def skip(self, edge: LoopEdge, to: int) -> None:
        """Let all ranks, which stand at an edge, go on with iteration `to`."""
        self._skips[edge.loop, edge.iteration] = to

    def of(self, rank: int) -> Iterator[ScriptStep | LoopEdge]:
        """The calls of a rank, with edges between the iterations of steady loops."""
        for i, part in self._parts.items():
            if i in self.iterations:
                yield from self._loop(i, part, rank)
            else:
                root = (i, 0)
                yield from (((root, stamp), call) for stamp, call in calls_with_paths(part, rank))

    def _split(self, trace: Trace) -> Iterator[tuple[int, Trace]]:
        """The bodies of steady loops and the nodes between them, each with the index of its first node."""
        start = 0
        for i, node in enumerate(trace.nodes):
            if i in self.iterations and isinstance(node, Sequence):
                if start < i:
                    yield start, _trace_of_nodes(trace, trace.nodes[start:i])
                yield i, _trace_of_nodes(trace, list(node.nodes))
                start = i + 1
        if start < len(trace.nodes):
            yield start, _trace_of_nodes(trace, trace.nodes[start:])

    def _loop(self, loop: int, body: Trace, rank: int) -> Iterator[ScriptStep | LoopEdge]:
        steps, iteration, iterations = list(calls_with_paths(body, rank)), 0, self.iterations[loop]
        while iteration < iterations:
            yield LoopEdge(loop, iteration, iterations)
            iteration = self._skips.get((loop, iteration), iteration)
            if iteration < iterations:
                root = (loop, iteration)
                yield from (((root, stamp), call) for stamp, call in steps)
            iteration += 1
        if iteration == iterations:
            yield LoopEdge(loop, iterations, iterations)


def _trace_of_nodes(trace: Trace, nodes: list[Node]) -> Trace:
    """The trace with these nodes alone; what it knows of communicators is shared."""
    part = replace(trace, nodes=nodes)
    part._layouts, part._communicators, part._arrays = trace._layouts, trace._communicators, trace._arrays
    part.pred_index = trace.pred_index
    return part


def _steady(trace: Trace, node: Node) -> int:
    """How often all ranks run a steady loop; 0 when it is none."""
    if not isinstance(node, Sequence) or not isinstance(node.repeat, Vec) or node.repeat.smallest() is None:
        return 0
    iterations = node.repeat.first(1)[0]
    if iterations <= MIN_ITERATIONS or not all(
        _repeats_equally(node.nodes, rank, 1, iterations) for rank in trace.ranks
    ):
        return 0
    body = _trace_of_nodes(trace, list(node.nodes))
    ncalls = max(sum(n for _, n in executions_of(body, rank)) for rank in _busiest(body))
    return iterations if ncalls <= MAX_KEPT_CALLS else 0


def _busiest(trace: Trace) -> set[int]:
    """Some ranks of which one has most calls, or nearly."""
    return {ranks.first for _, classes in executions(trace) for ranks, _ in classes} | {trace.ranks.first}


def _repeats_equally(nodes: tuple[Node, ...], rank: int, entry_count: int, iterations: int) -> bool:
    """Return whether all iterations are equal; in each, a rank enters the nodes `entry_count` times."""
    for node in nodes:
        repeats = elastic.at(node.repeat, rank)
        if repeats is None:
            continue
        if not _comes_again(repeats, entry_count, iterations):
            return False
        times = repeats.total(entry_count)
        if times <= 0:
            continue
        if isinstance(node, Sequence):
            if not _repeats_equally(node.nodes, rank, times, iterations):
                return False
        elif not all(_param_comes_again(param, rank, times, iterations) for param in node.params):
            return False
    return True


def _param_comes_again(param: Param, rank: int, times: int, iterations: int) -> bool:
    vec = elastic.at(param.value if isinstance(param, Peer) else param, rank)
    return vec is not None and _comes_again(vec, times, iterations)


def _comes_again(vec: Vec, n: int, iterations: int) -> bool:
    """Whether the first `turns` stretches of n values are equal; False also where finding out takes long."""
    if isinstance(vec.terms, int):
        return True
    *head, last = vec.terms or (0,)
    if isinstance(last, tuple) and last[0] == 0:  # a head, and then the same for ever
        start, period = Vec(tuple(head)).length or 0, Vec(tuple(last[2:])).length or 1
        if last[1] or n % period or start > MAX_COMPARED_VALUES:
            return False
        values = vec.first(start + n)
        return values[:start] == values[n : n + start]
    if n * iterations > min(MAX_COMPARED_VALUES, vec.length or 0):
        return False
    values = vec.first(n * iterations)
    return values[n:] == values[:-n]
