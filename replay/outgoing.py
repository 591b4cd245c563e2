"""Waiting for what a rank has sent, receiving meanwhile what comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from replay.inbox import Inbox
from replay.patience import Patience
from replay.rank import Rank
from replay.requests import Live

if TYPE_CHECKING:
    from replay.transport import Transport

MOST_UNDER_WAY = 64
"""Sends that blocked in the program but are not waited for any longer."""


class Outgoing:
    """The sends of one rank that have not ended."""

    def __init__(self, rank: Rank, transport: Transport, inbox: Inbox) -> None:
        self._rank, self._mpi, self._inbox = rank, transport, inbox
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
            is_done = live.test = live.test or self._mpi.test(live.handle)
            patience = Patience(self._mpi.size)
            while not is_done():
                patience.polled(self._inbox.poll())
