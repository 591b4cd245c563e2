"""A rank in an execution, and its requests."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from scalatrace.codegen.matching.execution.mailbox import MailItem, Repeated, Slot, Starts
from scalatrace.codegen.matching.execution.match_actions import MatchAction
from scalatrace.codegen.matching.execution.script import LoopEdge, ScriptStep, When
from scalatrace.trace.query.requests import LiveRequests
from scalatrace.trace.query.walk import Call

__all__ = ["Actor", "MatchRequest"]


class MatchRequest:
    """Pending items, and the action that created the request. `slot`, `stream`: of persistent requests."""

    __slots__ = ("action", "items", "slot", "stream")

    def __init__(self, action: MatchAction, items: list[MailItem], slot: Slot | None = None) -> None:
        self.action, self.items = action, items
        self.slot = slot or Slot(action.named)
        self.stream: tuple[object, ...] = ()


MAX_LOOKAHEAD_CALLS = 16
"""Calls after a receive that are looked at to guess whose message it got."""


class Actor:
    """A rank: its calls to come, what it waits for, its requests, and what its receives got."""

    def __init__(self, rank: int, calls: Iterator[ScriptStep | LoopEdge]) -> None:
        self.rank, self._calls = rank, calls
        self._ahead: deque[ScriptStep | LoopEdge] = deque()
        self.action: MatchAction | None = None
        self.when: When | None = None
        self.items: list[MailItem] = []
        self.pending = 0
        self.edge: LoopEdge | None = None
        self.ended = False
        self.requests = LiveRequests[MatchRequest](lambda request: request.action.persistent)
        self.probed: int | None = None
        self.found: dict[int, list[Slot | Starts | Repeated]] = {}

    def next(self) -> ScriptStep | LoopEdge | None:
        """The next call; None at the end."""
        return self._ahead.popleft() if self._ahead else next(self._calls, None)

    def coming(self) -> Iterator[Call]:
        """Some of the calls after the present one, up to the next edge."""
        for i in range(MAX_LOOKAHEAD_CALLS):
            if i == len(self._ahead):
                if (thing := next(self._calls, None)) is None:
                    return
                self._ahead.append(thing)
            thing = self._ahead[i]
            if isinstance(thing, LoopEdge):
                return
            yield thing[1]

    @property
    def polls(self) -> bool:
        """Whether the present call returns at once, with or without a result."""
        return self.action is not None and self.action.polls

    def stop_waiting(self) -> None:
        """Go on without what is not done yet."""
        for item in self.items:
            if item.waiter is self:
                item.waiter = None
        self.items, self.pending = [], 0

    def wait_for(self, items: list[MailItem]) -> bool:
        """Begin to wait for what is not done yet; whether there is anything."""
        self.items = [item for item in items if not item.done]
        for item in self.items:
            item.waiter = self
        self.pending = len(self.items)
        return self.pending > 0
