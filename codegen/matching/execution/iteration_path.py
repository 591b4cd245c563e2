"""A rank's walk with the place in the tree of each call: (child, iteration, child, iteration, ...)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import runs
from scalatrace.trace.query.walk import Call, walk

__all__ = ["Stamp", "stamped"]

Stamp = tuple[int, ...]


def stamped(trace: Trace, rank: int) -> Iterator[tuple[Stamp, Call]]:
    """The calls of a rank in order, as `Trace.walk` has them, each with its place."""
    return zip(_stamps(trace, rank), walk(trace, rank), strict=True)


class _Stage:
    """A node as a rank runs it: its number among its siblings, its repeats to come, and its own stages."""

    __slots__ = ("index", "inner", "is_event", "repeats")

    def __init__(self, index: int, repeats: Iterator[int], inner: list[_Stage], is_event: bool) -> None:
        self.index, self.repeats, self.inner, self.is_event = index, repeats, inner, is_event


def _stages(nodes: Sequence[Node], rank: int, met: int) -> list[_Stage]:
    found = []
    for i, node in enumerate(nodes):
        times = runs(node.repeat, rank, met)
        vec = elastic.at(node.repeat, rank)
        if times <= 0 or vec is None:
            continue
        if isinstance(node, Event):
            found.append(_Stage(i, iter(vec), [], True))
        elif inner := _stages(node.nodes, rank, times):
            found.append(_Stage(i, iter(vec), inner, False))
    return found


def _stamps(trace: Trace, rank: int) -> Iterator[Stamp]:
    stack: list[tuple[Iterator[_Stage], Stamp, _Stage | None, int, int]] = []
    base: Stamp = ()
    prefix: Stamp = ()
    of: _Stage | None = None
    stages, turn, turns = iter(_stages(trace.nodes, rank, 1)), 0, 1
    while True:
        stage = next(stages, None)
        if stage is None:
            turn += 1
            if of is not None and turn < turns:
                stages, prefix = iter(of.inner), (*base, of.index, turn)
            elif stack:
                stages, base, of, turn, turns = stack.pop()
                prefix = base if of is None else (*base, of.index, turn)
            else:
                return
            continue
        times = next(stage.repeats)
        if stage.is_event:
            for i in range(times):
                yield (*prefix, stage.index, i)
        elif times > 0:
            stack.append((stages, base, of, turn, turns))
            base, of, turn, turns = prefix, stage, 0, times
            stages, prefix = iter(stage.inner), (*base, stage.index, 0)
