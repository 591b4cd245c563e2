"""Requests of a rank while its calls are lowered: their numbers, messages, and pending collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scalatrace.predict.lowering.actions import LoweredAction, RecvMessage, SendMessage, WaitAction
from scalatrace.trace.model.call import Call

__all__ = ["LoweredRequest", "PendingCollective", "RequestNumbers"]


@dataclass(eq=False)
class PendingCollective:
    """A nonblocking collective that is started and not lowered yet."""

    call: Call


@dataclass(eq=False)
class LoweredRequest:
    """A request.

    Attributes:
        persistent: whether it is started again.
        messages: of a request for messages, as they are started.
        made_by: the call that made a persistent request for messages.
        collective: the call that made a persistent collective.
        partitions: of a partitioned send; `ready`: those marked ready since its start.
        active: requests of the lowered trace that complete it.
        waiting: nonblocking collectives that it stands for.
    """

    persistent: bool
    messages: tuple[SendMessage | RecvMessage, ...] = ()
    made_by: Call | None = None
    collective: Call | None = None
    partitions: int = 0
    ready: int = 0
    active: list[int] = field(default_factory=list)
    waiting: list[PendingCollective] = field(default_factory=list)


class RequestNumbers:
    """Numbers the requests of one rank, from 0."""

    def __init__(self) -> None:
        self._next = 0

    def start(self, message: SendMessage | RecvMessage) -> SendMessage | RecvMessage:
        """Return a message with a request of its own."""
        self._next += 1
        return message._replace(request=self._next - 1)

    def together(self, messages: Sequence[SendMessage | RecvMessage]) -> list[LoweredAction]:
        """Return the actions of blocking messages: receives are posted first, then all are awaited."""
        if len(messages) < 2:
            return list(messages)
        ordered = sorted(messages, key=lambda message: isinstance(message, SendMessage))
        started = [self.start(message) for message in ordered]
        return [
            *started,
            WaitAction(tuple(action.request for action in started if action.request is not None)),
        ]
