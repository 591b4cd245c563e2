"""Actions of messages that a rank has under way together, and the numbers of its requests."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.predict.lowering.actions import Action, Recv, Send, Wait

__all__ = ["MessageExchange"]


class MessageExchange:
    """Numbers the requests of one rank, from 0."""

    def __init__(self) -> None:
        self._next = 0

    def start(self, message: Send | Recv) -> Send | Recv:
        """Return a message with a request of its own."""
        self._next += 1
        return message._replace(request=self._next - 1)

    def together(self, messages: Sequence[Send | Recv]) -> list[Action]:
        """Return the actions of blocking messages: receives are posted first, then all are awaited."""
        if len(messages) < 2:
            return list(messages)
        ordered = sorted(messages, key=lambda message: isinstance(message, Send))
        started = [self.start(message) for message in ordered]
        return [*started, Wait(tuple(each.request for each in started if each.request is not None))]
