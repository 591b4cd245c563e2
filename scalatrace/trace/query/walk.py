"""Walk the calls of one rank in the compressed form, without expanding it.

The tree is compiled for the rank: repeats and parameters become iterators, sequences that the rank never
enters go away, and what is constant is worked out once. One generator with its own stack then runs the loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from scalatrace.trace.model import elastic
from scalatrace.trace.model.call import Call, CompiledEvent
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.query.counting import runs
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["Call", "CompiledEvent", "WalkStep", "calls", "compiled", "distinct_calls", "walk"]


class WalkStep:
    """A compiled node: an event's place, or the steps of a sequence; None and () for the other.

    Attributes:
        fixed: how often it runs each time, or None.
        repeats: how often it runs, one value each time.
        steady: whether it makes the same calls each time.
    """

    __slots__ = ("fixed", "place", "repeats", "steady", "steps")

    def __init__(self, repeats: Vec, place: CompiledEvent | None, steps: tuple[WalkStep, ...]) -> None:
        self.fixed: int | None = repeats.constant
        self.repeats = iter(repeats)
        self.place, self.steps = place, steps
        constant = all(step.steady for step in steps) if place is None else place.constant
        self.steady: bool = constant and self.fixed is not None

    def times(self) -> int:
        """Return the number of executions of this entry."""
        return next(self.repeats) if self.fixed is None else self.fixed


def compiled(
    trace: Trace, nodes: AnySequence[Node], rank: int, entry_count: int = 1, thread: int = 0
) -> tuple[WalkStep, ...]:
    """Compile the nodes that the rank's thread executes when it enters their sequence `entry_count` times."""
    steps = []
    for node in nodes:
        times = runs(node.repeat, rank, entry_count)
        if times <= 0:
            continue
        repeats = elastic.at(node.repeat, rank)
        assert repeats is not None  # or it would run 0 times
        if isinstance(node, Event):
            steps.append(WalkStep(repeats, CompiledEvent(trace, node, rank, thread), ()))
        elif inner := compiled(trace, node.nodes, rank, times, node.thread or thread):
            steps.append(WalkStep(repeats, None, inner))
    return tuple(steps)


def walk(trace: Trace, rank: int, thread: int | None = None) -> Iterator[Call]:
    """Yield the calls of a rank; see Trace.walk."""
    if not trace.has_streams:
        return _walk(compiled(trace, trace.nodes if not thread else [], rank))
    threads = trace.threads if thread is None else [thread]
    return chain.from_iterable(_walk(compiled(trace, trace.stream(number), rank)) for number in threads)


def _walk(steps: tuple[WalkStep, ...]) -> Iterator[Call]:
    """Yield the calls of one thread."""
    at, runs_left, pred = 0, 1, 0
    stack: list[tuple[tuple[WalkStep, ...], int, int]] = []
    while True:
        if at == len(steps):
            runs_left -= 1
            if runs_left > 0:
                at = 0
            elif stack:
                steps, at, runs_left = stack.pop()
            else:
                return
            continue
        step = steps[at]
        at += 1
        times = step.fixed
        if times is None:
            times = next(step.repeats)
        place = step.place
        if place is not None:
            for values in islice(place.rows, times):
                yield Call(place, values, pred)
                pred = place.own_pred
        elif times > 0:
            stack.append((steps, at, runs_left))
            steps, at, runs_left = step.steps, 0, times


def calls(trace: Trace, event: Event, rank: int) -> Iterator[Call]:
    """Yield one node's calls by a rank as if it stood alone: no predecessor, and no end of its own."""
    place = CompiledEvent(trace, event, rank)
    return (Call(place, values, -1) for values in place.rows)


def distinct_calls(trace: Trace, event: Event, rank: int, times: int) -> Iterator[tuple[Call, int]]:
    """Yield a node's calls by a rank that runs it `times` times, with counts; constant calls once."""
    stream = calls(trace, event, rank)
    first = next(stream)
    if first.place.constant:
        yield first, times
        return
    yield first, 1
    yield from ((call, 1) for call in islice(stream, times - 1))
