"""Program order as dependencies between the operations of a rank.

A blocking operation ends before the next begins. A nonblocking one begins in order, and ends before what
comes after its wait. An operation names only dependencies that do not follow from others.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Dependencies", "ProgramOrder"]


class Dependencies(NamedTuple):
    """Operations that must have ended, and the one that must have begun, before an operation begins."""

    ended: tuple[int, ...]
    begun: int | None


class ProgramOrder:
    """Numbers the operations of one rank from 1, and keeps those that the next one depends on.

    Args:
        beginnings: whether the format has dependencies on beginnings; else an operation repeats those of the
            nonblocking ones before it.
    """

    def __init__(self, beginnings: bool = True) -> None:
        self.last = 0
        self._beginnings = beginnings
        self._ended: list[int] = []
        self._begun: int | None = None
        self._requests: dict[int, int] = {}

    def blocking(self) -> Dependencies:
        """Add an operation after which the rank goes on when it has ended."""
        result = self._next()
        self._ended, self._begun = [self.last], None
        return result

    def nonblocking(self, request: int) -> Dependencies:
        """Add an operation that a wait for a request ends."""
        result = self._next()
        if self._beginnings:
            self._ended, self._begun = [], self.last
        self._requests[request] = self.last
        return result

    def wait(self, requests: tuple[int, ...]) -> None:
        """Let the next operation begin after the operations of these requests."""
        self._ended += [self._requests.pop(request) for request in requests]

    def _next(self) -> Dependencies:
        self.last += 1
        return Dependencies(tuple(self._ended), self._begun)
