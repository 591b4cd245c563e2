"""A request of a rank while it is executed."""

from __future__ import annotations

from scalatrace.codegen.matching.execution.mailbox import Item, Slot
from scalatrace.codegen.matching.execution.match_actions import MatchAction

__all__ = ["Request"]


class Request:
    """Pending items, and the action that created the request. `slot`, `stream`: of persistent requests."""

    __slots__ = ("action", "items", "slot", "stream")

    def __init__(self, action: MatchAction, items: list[Item], slot: Slot | None = None) -> None:
        self.action, self.items = action, items
        self.slot = slot or Slot(action.named)
        self.stream: tuple[object, ...] = ()
