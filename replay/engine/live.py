"""Live requests and the prepared calls that made them. Each refers to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scalatrace.replay.common.call_stats import Tally
from scalatrace.replay.transport.args import Status
from scalatrace.replay.transport.base import Buffer, Handle, Prepared

__all__ = ["Live", "PreparedCall"]


@dataclass(eq=False, slots=True)
class Live:
    """A request (or matched message) that the program still holds.

    Attributes:
        handle: the transport's own object.
        persistent: completion leaves it alive, only freeing ends it.
        buffers: memory in use until then.
        cached: the call that made it, if the cache has that.
        call: what made it, whose arrays MPI may use until it ends.
        status: of a matched message, from the call that matched it.
    """

    handle: Handle
    persistent: bool = False
    buffers: list[Any] = field(default_factory=list)
    cached: PreparedCall | None = None
    call: Prepared | None = None
    status: Status | None = None


@dataclass(eq=False, slots=True)
class PreparedCall:
    """A call with its arguments converted.

    Attributes:
        call: the transport's.
        tally: where it is counted.
        sent: bytes that it sends.
        live: the request that it makes.
        buffers: memory that it uses; empty when its request has the memory.
        free: list of the cache, to which it returns when its request has completed.
        newest_requests: of a call that completes requests, the newest live ones at that time, oldest first,
            back to the oldest that it completes.
        completes: the requests that it completes.
        makers: the calls that made these, if they are all of `newest_requests` and end with their completion.
    """

    call: Prepared
    tally: Tally
    sent: int
    live: Live | None = None
    buffers: list[Buffer] = field(default_factory=list)
    free: list[PreparedCall] | None = None
    newest_requests: Sequence[Live] = ()
    completes: Sequence[Live] = ()
    makers: Sequence[PreparedCall] = ()
