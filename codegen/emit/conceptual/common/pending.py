"""What is under way at each point of a program: everything is to be awaited, and nothing too early.

The language awaits all messages or none. A program that awaits one request while others are pending would,
said that way, wait for messages that nobody has sent yet. So a task awaits where the application has nothing
more under way than what it awaits there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.tree import Call
from scalatrace.trace.values.ranklist import RankList

__all__ = ["Pending", "Request"]

MAX_REQUESTS = 1 << 16
"""Requests of a rank that are followed; beyond that nothing is known."""


@dataclass(frozen=True, slots=True)
class Request:
    """A live request: a message under way, or (with the call that made it) a persistent one."""

    made: Call | None = None
    active: bool = True


Live = tuple[Request, ...] | None
"""Oldest first; None: not known."""


class Pending:
    """The live requests of all ranks.

    Attributes:
        idle: ranks that completed requests where they seemed to have nothing under way.
    """

    def __init__(self, ranks: RankList) -> None:
        self.live: dict[int, Live] = dict.fromkeys(ranks, ())
        self.idle: set[int] = set()

    def copy(self) -> Pending:
        """The state as it is now."""
        made = Pending(RankList())
        made.live, made.idle = dict(self.live), self.idle
        return made

    def make(self, ranks: RankList, request: Request) -> None:
        """Each of these makes a request."""
        for rank in ranks:
            live = self.live[rank]
            self.live[rank] = None if live is None or len(live) >= MAX_REQUESTS else (*live, request)

    def start(self, rank: int, ages: Sequence[int]) -> list[Call]:
        """Persistent requests become active; the calls that made them."""
        live = self.live[rank]
        if live is None:
            raise GenerateError("which persistent requests are started depends on too much to be followed")
        changed, found = list(live), []
        for age in ages:
            at = len(live) - 1 - age
            made = live[at].made if 0 <= at < len(live) else None
            if made is None:
                raise GenerateError("a request is started that is not persistent")
            found.append(made)
            changed[at] = Request(made, True)
        self.live[rank] = tuple(changed)
        return found

    def complete(self, rank: int, ages: Sequence[int] | None, free: bool = False) -> bool:
        """Requests end (None: all); whether the rank then has nothing under way, and had before."""
        live = self.live[rank]
        if live is None:
            self.live[rank] = () if ages is None else None
            return True
        ended = set(range(len(live))) if ages is None else {len(live) - 1 - age for age in ages if age >= 0}
        was_active = any(request.active for request in live)
        left = []
        for i, request in enumerate(live):
            if i not in ended:
                left.append(request)
            elif request.made is not None and not free:
                left.append(Request(request.made, False))
        self.live[rank] = tuple(left)
        if not was_active and ages != ():
            self.idle.add(rank)
        return was_active and not any(request.active for request in left)

    def carried(self, before: Pending, ranks: RankList) -> Pending | None:
        """How a body's later iterations begin, where they complete what those before began; else None."""
        found = before.copy()
        for rank in ranks:
            if rank in self.idle and self.live[rank] != before.live[rank]:
                found.live[rank] = self.live[rank]
        return found if found.live != before.live else None

    def looped(self, before: Pending, head: Pending, rank: int, times: int | None) -> None:
        """After a loop that began as `before`, and whose body turned `head` into this state."""
        old, new = before.live[rank], self.live[rank]
        if head.live[rank] != old:
            self.live[rank] = new if new == head.live[rank] and times else None
            return
        if old == new:
            return
        grown = old is not None and new is not None and new[: len(old)] == old
        if grown and times is not None and old is not None and new is not None:
            more = new[len(old) :] * times
            self.live[rank] = (*old, *more) if len(more) < MAX_REQUESTS else None
        else:
            self.live[rank] = None

    def either(self, other: Pending) -> None:
        """This or the other: unknown where they differ."""
        for rank, live in other.live.items():
            if self.live[rank] != live:
                self.live[rank] = None

    def unfinished(self) -> RankList:
        """Ranks that may have something under way."""
        return RankList(
            rank
            for rank, live in self.live.items()
            if live is None or any(request.active for request in live)
        )
