"""Iteration paths of a rank's calls: (child, iteration, child, iteration, ...) from the root of the tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import runs
from scalatrace.trace.query.walk import Call, walk

__all__ = ["IterationPath", "calls_with_paths"]

IterationPath = tuple[int, ...]


def calls_with_paths(trace: Trace, rank: int) -> Iterator[tuple[IterationPath, Call]]:
    """Yield the calls of a rank in the order of `Trace.walk`, each with its iteration path."""
    return zip(_iteration_paths(trace, rank), walk(trace, rank), strict=True)


class _NodeRun:
    """A node as a rank runs it: its index among its siblings, its remaining repeats, and its children."""

    __slots__ = ("index", "inner", "is_event", "repeats")

    def __init__(self, index: int, repeats: Iterator[int], inner: list[_NodeRun], is_event: bool) -> None:
        self.index, self.repeats, self.inner, self.is_event = index, repeats, inner, is_event


def _node_runs(nodes: Sequence[Node], rank: int, entry_count: int) -> list[_NodeRun]:
    node_runs = []
    for i, node in enumerate(nodes):
        times = runs(node.repeat, rank, entry_count)
        vec = elastic.at(node.repeat, rank)
        if times <= 0 or vec is None:
            continue
        if isinstance(node, Event):
            node_runs.append(_NodeRun(i, iter(vec), [], True))
        elif inner := _node_runs(node.nodes, rank, times):
            node_runs.append(_NodeRun(i, iter(vec), inner, False))
    return node_runs


def _iteration_paths(trace: Trace, rank: int) -> Iterator[IterationPath]:
    stack: list[tuple[Iterator[_NodeRun], IterationPath, _NodeRun | None, int, int]] = []
    base: IterationPath = ()
    prefix: IterationPath = ()
    parent: _NodeRun | None = None
    siblings, iteration, iterations = iter(_node_runs(trace.nodes, rank, 1)), 0, 1
    while True:
        run = next(siblings, None)
        if run is None:
            iteration += 1
            if parent is not None and iteration < iterations:
                siblings, prefix = iter(parent.inner), (*base, parent.index, iteration)
            elif stack:
                siblings, base, parent, iteration, iterations = stack.pop()
                prefix = base if parent is None else (*base, parent.index, iteration)
            else:
                return
            continue
        times = next(run.repeats)
        if run.is_event:
            for i in range(times):
                yield (*prefix, run.index, i)
        elif times > 0:
            stack.append((siblings, base, parent, iteration, iterations))
            base, parent, iteration, iterations = prefix, run, 0, times
            siblings, prefix = iter(run.inner), (*base, run.index, 0)
