"""Prepared calls by place and values: an event with the values of an earlier one needs no converting.

A blocking call is free at once. A call that makes a request is free again when the request has completed;
until then, another call of the same values is prepared. A call that completes requests can be
issued again when the newest live requests are the same as then.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from scalatrace.replay.engine.requests import LiveRequest, PreparedCall
from scalatrace.replay.transport.buffers import BufferPool

MAX_CALLS = 1 << 14
"""Calls in the cache."""

MAX_NBYTES = 1 << 26
"""Memory that they may hold."""

MAX_COMPLETIONS = 8
"""Calls of one key that complete different requests of the same ages."""


class CallCache:
    """Prepared calls by key, an event's place and values. A full cache is emptied.

    Attributes:
        free: calls that can be issued now.
    """

    def __init__(self, buffers: BufferPool) -> None:
        self._buffers = buffers
        self.free: dict[Hashable, list[PreparedCall]] = {}
        self._cached: list[PreparedCall] = []
        self._nbytes = 0

    def find(self, key: Hashable, newest: Sequence[LiveRequest]) -> PreparedCall | None:
        """Return a call that can be issued now, when these requests are live."""
        free = self.free.get(key)
        if not free:
            return None
        prepared = free[-1]
        if prepared.live is not None:
            free.pop()
        elif prepared.newest_requests:
            return self._completing(free, newest)
        return prepared

    def _completing(self, free: list[PreparedCall], newest: Sequence[LiveRequest]) -> PreparedCall | None:
        for i, prepared in enumerate(free):
            if newest[-len(prepared.newest_requests) :] == prepared.newest_requests:
                free[i], free[-1] = free[-1], prepared  # compared first the next time
                return prepared
        return None

    def add_completing(self, key: Hashable, prepared: PreparedCall) -> None:
        """Add a call that completes requests, each persistent or made by a call of the cache."""
        completed = [live for live in prepared.newest_requests if live in prepared.completes]
        makers = [live.cached for live in completed if live.cached is not None]
        if len(makers) == len(prepared.newest_requests):
            prepared.makers = makers
        free = self.free.setdefault(key, [])
        if len(free) == MAX_COMPLETIONS:
            del free[0]
        free.append(prepared)

    def add(self, key: Hashable, prepared: PreparedCall) -> None:
        """Add a call that was just issued. It is free at once, or when its request has completed."""
        if len(self._cached) >= MAX_CALLS or self._nbytes > MAX_NBYTES:
            self.clear()
        self._cached.append(prepared)
        self._nbytes += sum(buffer.nbytes for buffer in prepared.buffers)
        prepared.free = self.free.setdefault(key, [])
        if prepared.live is None:
            prepared.free.append(prepared)
        else:
            prepared.live.cached = prepared
            self._nbytes += sum(buffer.nbytes for buffer in prepared.live.buffers)

    def clear(self) -> None:
        """Remove all calls, since what they refer to has changed. Requests in progress complete as usual."""
        free = {id(prepared) for calls in self.free.values() for prepared in calls}
        for prepared in self._cached:
            self._buffers.give_back(prepared.buffers)
            if prepared.live is not None:
                if id(prepared) in free:
                    self._buffers.give_back(prepared.live.buffers)
                prepared.live.cached = None
        self.free.clear()
        self._cached, self._nbytes = [], 0
