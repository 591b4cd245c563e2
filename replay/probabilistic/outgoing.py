"""Waiting for what a rank has sent, receiving meanwhile what comes."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.replay.engine.rank import Rank
from scalatrace.replay.engine.requests import Live
from scalatrace.replay.transport.inbox import Inbox

MOST_UNDER_WAY = 64
"""Sends that blocked in the program but are not waited for any longer."""


class Outgoing:
    """The sends of one rank that have not ended."""

    def __init__(self, rank: Rank, inbox: Inbox) -> None:
        self._rank, self._inbox = rank, inbox
        self._under_way: list[Live] = []

    def leave(self, live: Live) -> None:
        """Go on without waiting for a request. When many are under way, the oldest of them are waited for."""
        self._under_way += self._rank.requests.remove([live])
        if len(self._under_way) >= MOST_UNDER_WAY:
            self._end(MOST_UNDER_WAY // 2)

    def land(self) -> None:
        """Wait for all that are under way."""
        self._end(len(self._under_way))

    def _end(self, n: int) -> None:
        ended, self._under_way = self._under_way[:n], self._under_way[n:]
        self.wait(ended)
        for live in ended:
            self._rank.release(live)

    def wait(self, lives: Sequence[Live]) -> None:
        """Wait for requests."""
        for live in lives:
            self._inbox.wait(live.handle)
