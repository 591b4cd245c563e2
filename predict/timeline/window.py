"""A lowered trace cut to a window of time, with both ends of each message or with none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator

from scalatrace.predict.lowering import (
    Account,
    CollectiveAction,
    LoweredAction,
    LoweredStep,
    LoweringTarget,
    RecvMessage,
    SendMessage,
    TraceLowering,
    WaitAction,
)
from scalatrace.predict.platform import Platform
from scalatrace.predict.timeline.events import Timeline
from scalatrace.trace.model.trace import Trace

__all__ = ["WindowLowering"]

FamilyName = tuple[Hashable, int]
"""Key of a message or place of a collective, and its serial number."""


class WindowLowering(TraceLowering):
    """Gives the calls that overlap a window.

    A message is kept if it is sent and its receive is posted in the window; a collective if all its ranks
    enter it there. Memory grows with the messages in the window.

    Args:
        window_ns: start and end, ns since the start of the program.
    """

    def __init__(
        self,
        trace: Trace,
        window_ns: tuple[float, float],
        target: LoweringTarget | None = None,
        platform: Platform | None = None,
        ranks: Iterable[int] | None = None,
    ) -> None:
        super().__init__(trace, target, platform, ranks)
        timeline = Timeline(trace, self.ranks, window_ns)
        self._calls = {rank: timeline.inside(rank) for rank in self.ranks}
        self._numbers = {rank: number for number, rank in enumerate(self.ranks)}
        self._kept: set[FamilyName] | None = None
        self._kept = self._complete()
        self.account = Account()

    def steps(self, rank: int) -> Iterator[LoweredStep]:
        """Yield the calls in the window; see `TraceLowering.steps`."""
        inside, names = self._calls[rank], _WindowNames(self._numbers[rank])
        open_requests: set[int] = set()
        for i, step in enumerate(super().steps(rank)):
            if i >= inside.stop:
                return
            named = [(action, names.of(action)) for action in step.actions]
            if i in inside:
                actions = [
                    a for action, name in named if (a := self._cut(action, name, open_requests)) is not None
                ]
                yield step._replace(actions=actions)

    def _cut(
        self, action: LoweredAction, name: FamilyName | None, open_requests: set[int]
    ) -> LoweredAction | None:
        """Return an action without what is not kept; None if nothing is left."""
        if isinstance(action, WaitAction):
            still_open = tuple(request for request in action.requests if request in open_requests)
            open_requests.difference_update(still_open)
            return WaitAction(still_open) if still_open else None
        if name is None or self._kept is None:
            return action
        if name not in self._kept:
            return None
        if isinstance(action, SendMessage | RecvMessage) and action.request is not None:
            open_requests.add(action.request)
        return action

    def _complete(self) -> set[FamilyName]:
        """Return the messages with both ends, and the collectives with all ranks, in the window."""
        sent: set[FamilyName] = set()
        posted: set[FamilyName] = set()
        entered: Counter[FamilyName] = Counter()
        sizes: dict[FamilyName, int] = {}
        for rank in self.ranks:
            inside, names = self._calls[rank], _WindowNames(self._numbers[rank])
            for i, step in enumerate(super().steps(rank)):
                if i >= inside.stop:
                    break
                for action in step.actions:
                    name = names.of(action)
                    if name is None or i not in inside:
                        continue
                    if isinstance(action, CollectiveAction):
                        entered[name] += 1
                        sizes[name] = action.shape.nranks
                    else:
                        (sent if isinstance(action, SendMessage) else posted).add(name)
        return (sent & posted) | {name for name, n in entered.items() if n == sizes[name]}


class _WindowNames:
    """Names the messages and collectives of a rank, as all ranks that take part name them."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._counts: dict[tuple[bool, Hashable], int] = defaultdict(int)

    def of(self, action: LoweredAction) -> FamilyName | None:
        """Return the name of a message or collective; None for any other action."""
        place: Hashable
        if isinstance(action, SendMessage):
            place = self._number, action.peer, action.tag
        elif isinstance(action, RecvMessage):
            place = action.peer, self._number, action.tag
        elif isinstance(action, CollectiveAction):
            place = "collective", action.members
        else:
            return None
        counted = isinstance(action, RecvMessage), place
        self._counts[counted] += 1
        return place, self._counts[counted] - 1
