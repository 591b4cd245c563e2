"""Track the pending requests of each rank, to decide where its task awaits completion.

AWAIT COMPLETION awaits all messages of a task. Where an application awaits one of several pending requests,
this statement could wait for messages that no task has sent yet. So a task awaits completion only where the
application awaits all that is pending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.tree import MpiCall
from scalatrace.trace.values.ranklist import RankList

__all__ = ["EmittedRequest", "PendingRequests"]

MAX_REQUESTS = 1 << 16
"""Live requests of a rank that are tracked; with more, its state is unknown."""


@dataclass(frozen=True, slots=True)
class EmittedRequest:
    """A live request: a pending message, or (with the call that created it) a persistent request."""

    created_by: MpiCall | None = None
    active: bool = True


TrackedRequests = tuple[EmittedRequest, ...] | None
"""Oldest first; None: unknown."""


class PendingRequests:
    """The live requests of all ranks.

    Attributes:
        idle: ranks that completed requests although none seemed to be pending.
    """

    def __init__(self, ranks: RankList) -> None:
        self.live: dict[int, TrackedRequests] = dict.fromkeys(ranks, ())
        self.idle: set[int] = set()

    def copy(self) -> PendingRequests:
        """Return a copy of the state."""
        copy = PendingRequests(RankList())
        copy.live, copy.idle = dict(self.live), self.idle
        return copy

    def make(self, ranks: RankList, request: EmittedRequest) -> None:
        """Add a request to each of these ranks."""
        for rank in ranks:
            live = self.live[rank]
            self.live[rank] = None if live is None or len(live) >= MAX_REQUESTS else (*live, request)

    def start(self, rank: int, ages: Sequence[int]) -> list[MpiCall]:
        """Start persistent requests; return the calls that created them."""
        live = self.live[rank]
        if live is None:
            raise GenerateError("it starts different persistent requests by iteration or branch")
        changed, started = list(live), []
        for age in ages:
            at = len(live) - 1 - age
            created_by = live[at].created_by if 0 <= at < len(live) else None
            if created_by is None:
                raise GenerateError("it starts a request that is not persistent")
            started.append(created_by)
            changed[at] = EmittedRequest(created_by, True)
        self.live[rank] = tuple(changed)
        return started

    def complete(self, rank: int, ages: Sequence[int] | None, free: bool = False) -> bool:
        """End requests (None: all); return whether this ends the last pending message of the rank."""
        live = self.live[rank]
        if live is None:
            self.live[rank] = () if ages is None else None
            return True
        ended = set(range(len(live))) if ages is None else {len(live) - 1 - age for age in ages if age >= 0}
        was_active = any(request.active for request in live)
        pending = []
        for i, request in enumerate(live):
            if i not in ended:
                pending.append(request)
            elif request.created_by is not None and not free:
                pending.append(EmittedRequest(request.created_by, False))
        self.live[rank] = tuple(pending)
        if not was_active and ages != ():
            self.idle.add(rank)
        return was_active and not any(request.active for request in pending)

    def carried(self, before: PendingRequests, ranks: RankList) -> PendingRequests | None:
        """Return the state at the start of later iterations if they complete requests of earlier ones."""
        head = before.copy()
        for rank in ranks:
            if rank in self.idle and self.live[rank] != before.live[rank]:
                head.live[rank] = self.live[rank]
        return head if head.live != before.live else None

    def looped(self, before: PendingRequests, head: PendingRequests, rank: int, times: int | None) -> None:
        """Set the state of a rank after a loop, from the states before it and at its head."""
        earlier, later = before.live[rank], self.live[rank]
        if head.live[rank] != earlier:
            self.live[rank] = later if later == head.live[rank] and times else None
            return
        if earlier == later:
            return
        grown = earlier is not None and later is not None and later[: len(earlier)] == earlier
        if grown and times is not None and earlier is not None and later is not None:
            more = later[len(earlier) :] * times
            self.live[rank] = (*earlier, *more) if len(more) < MAX_REQUESTS else None
        else:
            self.live[rank] = None

    def either(self, other: PendingRequests) -> None:
        """Merge with the state of another branch: unknown where they differ."""
        for rank, live in other.live.items():
            if self.live[rank] != live:
                self.live[rank] = None

    def unfinished(self) -> RankList:
        """Return the ranks that may have pending messages."""
        return RankList(
            rank
            for rank, live in self.live.items()
            if live is None or any(request.active for request in live)
        )
