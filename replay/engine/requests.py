"""Live requests of a rank by age (the newest has age 0, as in the trace), and the calls that made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scalatrace.replay.common.call_stats import Tally
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport.args import Status
from scalatrace.replay.transport.base import Handle, Prepared, TransportBuffer
from scalatrace.trace.query.requests import LiveRequests

__all__ = ["LiveList", "LiveRequest", "PreparedCall"]


@dataclass(eq=False, slots=True)
class LiveRequest:
    """A request (or matched message) that the program still holds.

    Attributes:
        handle: the transport's own object.
        persistent: completion leaves it alive, only freeing ends it.
        buffers: memory in use until then.
        cached: the call that made it, if the cache has that.
        call: what made it, whose arrays MPI may use until it ends.
        status: of a matched message, from the call that matched it.
        ordinal: number of requests that its thread made before; where a rank has several threads.
        ended_elsewhere: another thread has ended it.
    """

    handle: Handle
    persistent: bool = False
    buffers: list[Any] = field(default_factory=list)
    cached: PreparedCall | None = None
    call: Prepared | None = None
    status: Status | None = None
    ordinal: int = -1
    ended_elsewhere: bool = False


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
    live: LiveRequest | None = None
    buffers: list[TransportBuffer] = field(default_factory=list)
    free: list[PreparedCall] | None = None
    newest_requests: Sequence[LiveRequest] = ()
    completes: Sequence[LiveRequest] = ()
    makers: Sequence[PreparedCall] = ()


class LiveList(LiveRequests[LiveRequest]):
    """Live requests or matched messages of a replay, which must be there when a call names them."""

    def __init__(self, kind: str = "request") -> None:
        super().__init__(lambda live: live.persistent)
        self.kind = kind

    def at(self, age: int) -> LiveRequest:
        """Return the request of an age.

        Raises:
            ReplayError: there is no such request; the trace was edited, or the recorder was wrong.
        """
        if lives := self.of_ages((age,)):
            return lives[0]
        raise ReplayError(f"no live {self.kind} of age {age}; there are {len(self)}")

    def newest(self, lives: Iterable[LiveRequest]) -> list[LiveRequest]:
        """Return the newest requests, oldest first, back to the oldest of these."""
        return self.items[min(self.items.index(live) for live in lives) :]

    def remove(self, gone: Iterable[LiveRequest]) -> list[LiveRequest]:
        """Remove these requests, whatever their ages are now; return those that were in the list."""
        ended = dict.fromkeys(gone)
        first = max(0, len(self) - len(ended))
        if self.items[first:] == list(ended):  # most calls complete the newest
            del self.items[first:]
            return list(ended)
        positions = [i for i, live in enumerate(self.items) if live in ended]
        removed = [self.items[i] for i in positions]
        self.drop(set(positions))
        return removed

    def swap(self, a: LiveRequest, b: LiveRequest) -> None:
        """Exchange the ages of two requests: MPI completed `a` where the program saw `b` complete."""
        i, j = self.items.index(a), self.items.index(b)
        self.items[i], self.items[j] = b, a

    def left(self) -> Sequence[LiveRequest]:
        """Return the requests that are still live, oldest first."""
        return tuple(self.items)
