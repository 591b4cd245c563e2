"""A request of a rank while it is executed."""

from __future__ import annotations

from scalatrace.codegen.matching.execution.mailbox import MailItem, Slot
from scalatrace.codegen.matching.execution.match_actions import MatchAction

__all__ = ["MatchRequest"]


class MatchRequest:
    """Pending items, and the action that created the request. `slot`, `stream`: of persistent requests."""

    __slots__ = ("action", "items", "slot", "stream")

    def __init__(self, action: MatchAction, items: list[MailItem], slot: Slot | None = None) -> None:
        self.action, self.items = action, items
        self.slot = slot or Slot(action.named)
        self.stream: tuple[object, ...] = ()
