"""How often a rank runs each event node after each predecessor, from the compressed form.

What repeats the same way every time is counted once and multiplied; only loops whose content differs from
iteration to iteration are run through, node by node, and only so far.
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

MOST_STEPS = 1 << 17
"""Nodes of one rank that are run through: about a tenth of a second."""


class TooLongError(ScalatraceError):
    """What comes after what would have to be run through for longer than it is worth."""


Counts = Counter[tuple[int, int]]
"""Runs by id(event node) and predecessor."""


def executions_after(trace: Trace, rank: int) -> Iterator[tuple[Event, int, int]]:
    """Each event node, an index into `Trace.preds`, and how often a rank runs the node right after that call.

    The predecessor is -1 where the call before has no entry, as in `Call.pred`.

    Raises:
        FormatError: a repeat has too few values or is negative.
        TooLongError: iterations that differ are too many.
    """
    events: dict[int, Event] = {}
    parts = _parts(trace, trace.nodes, rank, 1, events)
    uses: Counter[tuple[_Part, int]] = Counter()
    pred, found, left = 0, Counter[tuple[int, int]](), iter(range(MOST_STEPS))
    for part in parts:
        pred = _run(part, pred, uses, found, left)
    for (part, before), times in uses.items():
        for key, n in part.after(before)[0].items():
            found[key] += n * times
    return ((events[node], before, n) for (node, before), n in found.items() if n)


class _Part:
    """A node as one rank runs it.

    Attributes:
        times: how often its content runs each time that the node is met; None: not always as often.
        same: whether everything inside runs equally often every time, too.
    """

    __slots__ = ("event", "key", "known", "parts", "repeats", "same", "times")

    def __init__(self, event: int, key: int, repeats: Iterator[int], times: int | None) -> None:
        self.event, self.key = event, key
        self.repeats, self.times = repeats, times
        self.parts: list[_Part] = []
        self.same = times is not None
        self.known: dict[int, tuple[Counts, int]] = {}

    def after(self, pred: int) -> tuple[Counts, int]:
        """What a part that is always the same runs after a call, and the call that is its last then."""
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
            some, pred = part.after(pred)
            counts.update(some)
        return counts, pred


def _part(trace: Trace, node: Node, rank: int, met: int, events: dict[int, Event]) -> _Part | None:
    n = runs(node.repeat, rank, met)
    if n <= 0:
        return None
    repeats = elastic.at(node.repeat, rank)
    assert repeats is not None  # or it would run 0 times
    if isinstance(node, Event):
        events[id(node)] = node
        own = trace.pred_index.get((node.op, node.signature), -1)
        return _Part(id(node), own, iter(repeats), repeats.constant)
    made = _Part(-1, -1, iter(repeats), repeats.constant)
    made.parts = _parts(trace, node.nodes, rank, n, events)
    made.same = made.same and all(part.same for part in made.parts)
    return made if made.parts else None


def _parts(
    trace: Trace, nodes: AnySequence[Node], rank: int, met: int, events: dict[int, Event]
) -> list[_Part]:
    found = (_part(trace, node, rank, met, events) for node in nodes)
    return [part for part in found if part is not None]


def _run(part: _Part, pred: int, uses: Counter[tuple[_Part, int]], found: Counts, left: Iterator[int]) -> int:
    """Count one meeting of a part, if there are steps left; the call that is the last then."""
    if next(left, None) is None:
        raise TooLongError("too many iterations that differ")
    if part.same:
        uses[part, pred] += 1
        return part.after(pred)[1]
    times = next(part.repeats) if part.times is None else part.times
    if not part.parts:
        if times > 0:
            found[part.event, pred] += 1
            found[part.event, part.key] += times - 1
        return part.key if times > 0 else pred
    for _ in range(times):
        for inner in part.parts:
            pred = _run(inner, pred, uses, found, left)
    return pred
