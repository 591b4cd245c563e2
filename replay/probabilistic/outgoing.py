"""Sends in progress of one rank. While it waits for them it receives what arrives."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.engine.requests import Live
from scalatrace.replay.transport.inbox import Inbox

MAX_IN_PROGRESS = 64
"""Sends in progress for which the rank does not wait yet, though they blocked in the program."""


class Outgoing:
    """The sends in progress of one rank."""

    def __init__(self, rank: RankReplay, inbox: Inbox) -> None:
        self._rank, self._inbox = rank, inbox
        self._in_progress: list[Live] = []

    def track(self, live: Live) -> None:
        """Track a send instead of waiting for it. With too many in progress, wait for the older half."""
        self._in_progress += self._rank.requests.remove([live])
        if len(self._in_progress) >= MAX_IN_PROGRESS:
            self._end(MAX_IN_PROGRESS // 2)

    def wait_all(self) -> None:
        """Wait for all sends in progress."""
        self._end(len(self._in_progress))

    def _end(self, n: int) -> None:
        ended, self._in_progress = self._in_progress[:n], self._in_progress[n:]
        self.wait(ended)
        for live in ended:
            self._rank.release(live)

    def wait(self, lives: Sequence[Live]) -> None:
        """Wait for requests, receiving meanwhile."""
        for live in lives:
            self._inbox.wait(live.handle)
