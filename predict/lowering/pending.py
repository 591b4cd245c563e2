"""Requests of a rank while its calls are lowered, and nonblocking collectives without a place."""

from __future__ import annotations

from dataclasses import dataclass, field

from scalatrace.predict.lowering.actions import Recv, Send
from scalatrace.trace.model.call import Call

__all__ = ["LoweredRequest", "PendingCollective"]


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
    messages: tuple[Send | Recv, ...] = ()
    made_by: Call | None = None
    collective: Call | None = None
    partitions: int = 0
    ready: int = 0
    active: list[int] = field(default_factory=list)
    waiting: list[PendingCollective] = field(default_factory=list)
