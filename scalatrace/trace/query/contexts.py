"""Count the executions of each event node after each predecessor, from the compressed form.

Loops with constant trip counts are counted once and multiplied. Other loops are visited iteration by
iteration, up to `MAX_VISITED_NODES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from typing import TYPE_CHECKING

from scalatrace.errors import ScalatraceError
from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.query.counting import runs

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["TooLongError", "executions_after"]

MAX_VISITED_NODES = 1 << 17
"""Nodes of one rank that are visited one by one: about a tenth of a second."""


class TooLongError(ScalatraceError):
    """Error: too many iterations differ to find the predecessors of all executions."""


Counts = Counter[tuple[int, int]]
"""Executions by id(event node) and predecessor."""


def executions_after(trace: Trace, rank: int) -> Iterator[tuple[Event, int, int]]:
    """Yield each event node, an index into `Trace.preds`, and how often a rank runs the node after that call.

    The predecessor is -1 where the call before has no entry, as in `Call.pred`.

    Raises:
        FormatError: a repeat has too few values or is negative.
        TooLongError: iterations that differ are too many.
    """
    events: dict[int, Event] = {}
    parts = _parts(trace, trace.nodes, rank, 1, events)
    uses: Counter[tuple[_PartRun, int]] = Counter()
    pred, counts, budget = 0, Counter[tuple[int, int]](), iter(range(MAX_VISITED_NODES))
    for part in parts:
        pred = _run(part, pred, uses, counts, budget)
    for (part, before), times in uses.items():
        for key, n in part.after(before)[0].items():
            counts[key] += n * times
    return ((events[node], before, n) for (node, before), n in counts.items() if n)


class _PartRun:
    """A node as executed by one rank.

    Attributes:
        times: trip count of each entry of the node; None: it varies.
        same: whether the trip counts of everything inside are constant, too.
    """

    __slots__ = ("event", "key", "known", "parts", "repeats", "same", "times")

    def __init__(self, event: int, key: int, repeats: Iterator[int], times: int | None) -> None:
        self.event, self.key = event, key
        self.repeats, self.times = repeats, times
        self.parts: list[_PartRun] = []
        self.same = times is not None
        self.known: dict[int, tuple[Counts, int]] = {}

    def after(self, pred: int) -> tuple[Counts, int]:
        """Return the executions of a part with constant trip counts after a call, and its last call."""
        if pred not in self.known:
            assert self.times is not None
            first, last = self._once(pred)
            counts = Counter(first)
            if self.times > 1:
                # From the second time on, the call before is the last of the same content.
                again, _ = self._once(last)
                for key, n in again.items():
                    counts[key] += n * (self.times - 1)
            self.known[pred] = counts, last
        return self.known[pred]

    def _once(self, pred: int) -> tuple[Counts, int]:
        if not self.parts:
            return Counter({(self.event, pred): 1}), self.key
        counts: Counts = Counter()
        for part in self.parts:
            executions, pred = part.after(pred)
            counts.update(executions)
        return counts, pred


def _part(trace: Trace, node: Node, rank: int, entry_count: int, events: dict[int, Event]) -> _PartRun | None:
    n = runs(node.repeat, rank, entry_count)
    if n <= 0:
        return None
    repeats = elastic.at(node.repeat, rank)
    assert repeats is not None  # or it would run 0 times
    if isinstance(node, Event):
        events[id(node)] = node
        own_pred = trace.pred_index.get((node.op, node.signature), -1)
        return _PartRun(id(node), own_pred, iter(repeats), repeats.constant)
    loop = _PartRun(-1, -1, iter(repeats), repeats.constant)
    loop.parts = _parts(trace, node.nodes, rank, n, events)
    loop.same = loop.same and all(part.same for part in loop.parts)
    return loop if loop.parts else None


def _parts(
    trace: Trace, nodes: AnySequence[Node], rank: int, entry_count: int, events: dict[int, Event]
) -> list[_PartRun]:
    parts = (_part(trace, node, rank, entry_count, events) for node in nodes)
    return [part for part in parts if part is not None]


def _run(
    part: _PartRun,
    pred: int,
    uses: Counter[tuple[_PartRun, int]],
    counts: Counts,
    budget: Iterator[int],
) -> int:
    """Count one entry of a part and return its last call. Raises TooLongError."""
    if next(budget, None) is None:
        raise TooLongError(f"more than {MAX_VISITED_NODES} iterations differ")
    if part.same:
        uses[part, pred] += 1
        return part.after(pred)[1]
    times = next(part.repeats) if part.times is None else part.times
    if not part.parts:
        if times > 0:
            counts[part.event, pred] += 1
            counts[part.event, part.key] += times - 1
        return part.key if times > 0 else pred
    for _ in range(times):
        for inner in part.parts:
            pred = _run(inner, pred, uses, counts, budget)
    return pred
