"""A rank's live requests while it is executed; named by age as in the trace (0: the newest)."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.matching.execution.mailbox import Item, Slot
from scalatrace.codegen.matching.execution.match_actions import MatchAction

__all__ = ["Request", "Requests"]


class Request:
    """Pending items, and the action that created the request. `slot`, `stream`: of persistent requests."""

    __slots__ = ("action", "items", "slot", "stream")

    def __init__(self, action: MatchAction, items: list[Item], slot: Slot | None = None) -> None:
        self.action, self.items = action, items
        self.slot = slot or Slot(action.named)
        self.stream: tuple[object, ...] = ()


class Requests:
    """The live requests, oldest first."""

    def __init__(self) -> None:
        self.live: list[Request] = []

    def add(self, request: Request) -> None:
        """A new one."""
        self.live.append(request)

    def at(self, ages: Sequence[int]) -> list[Request]:
        """Those of these ages; null requests and such as no recorded call made are left out."""
        n = len(self.live)
        return [self.live[n - 1 - age] for age in ages if 0 <= age < n]

    def end(self, ages: Sequence[int], freed: bool) -> list[Request]:
        """Those of these ages, taken out but for persistent ones that are not freed."""
        ended = self.at(ages)
        gone = {id(request) for request in ended if freed or not request.action.persistent}
        if len(gone) == len(self.live):
            self.live.clear()
        elif gone:
            self.live = [request for request in self.live if id(request) not in gone]
        return ended
