"""Calls that are kept to be made again: an event with the values of an earlier one needs no converting.

A blocking call is kept as it is. One that makes a request is kept with that request and its memory, and used
again once the request has completed; while it is under way, another of the same values is made. One that
completes requests is kept with these, and made again when the newest ones are they.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scalatrace.replay.common.call_stats import Tally
from scalatrace.replay.engine.requests import Live
from scalatrace.replay.transport.base import Prepared

if TYPE_CHECKING:
    from scalatrace.replay.transport.buffers import Buffers

MOST = 1 << 14
"""Calls kept at a time."""

MOST_NBYTES = 1 << 26
"""Memory that they may hold."""

MOST_WAITS = 8
"""Calls kept of one place that complete different requests of the same ages."""


@dataclass(eq=False, slots=True)
class Made:
    """A call with its arguments converted.

    Attributes:
        call: the transport's.
        tally: where it counts.
        sent: bytes it hands over.
        live: the request that it makes.
        tail: of a call that completes requests, the newest that there are then, oldest first, back to the
            oldest of those.
        completes: these.
        frees: what made them, if they are all of the tail and end with it.
        buffers: memory it uses, unless a request has it.
        spares: those of the same values that are not under way.
    """

    call: Prepared
    tally: Tally
    sent: int
    live: Live | None = None
    buffers: list[Any] = field(default_factory=list)
    spares: list[Made] | None = None
    tail: Sequence[Live] = ()
    completes: Sequence[Live] = ()
    frees: Sequence[Made] = ()


class MadeCalls:
    """Made calls by key, an event's place and values; forgotten all at once when there are too many.

    Attributes:
        spares: those that can be made now.
    """

    def __init__(self, buffers: Buffers) -> None:
        self._buffers = buffers
        self.spares: dict[Hashable, list[Made]] = {}
        self._kept: list[Made] = []
        self._nbytes = 0

    def find(self, key: Hashable, newest: Sequence[Live]) -> Made | None:
        """Return a call that can be made now, when these requests are live."""
        spares = self.spares.get(key)
        if not spares:
            return None
        made = spares[-1]
        if made.live is not None:
            spares.pop()
        elif made.tail:
            return self._completing(spares, newest)
        return made

    def _completing(self, spares: list[Made], newest: Sequence[Live]) -> Made | None:
        for i, made in enumerate(spares):
            if newest[-len(made.tail) :] == made.tail:
                spares[i], spares[-1] = spares[-1], made  # the next one to be looked at first
                return made
        return None

    def keep_completing(self, key: Hashable, made: Made) -> None:
        """Keep a call that completes requests which are persistent or made by kept calls."""
        makers = [live.made for live in made.tail if live in made.completes]
        if len(makers) == len(made.tail) and None not in makers:
            made.frees = makers  # type: ignore[assignment]
        spares = self.spares.setdefault(key, [])
        if len(spares) == MOST_WAITS:
            del spares[0]
        spares.append(made)

    def keep(self, key: Hashable, made: Made) -> None:
        """Keep a call that was just made: a blocking one is free, a request's when that has completed."""
        if len(self._kept) >= MOST or self._nbytes > MOST_NBYTES:
            self.forget()
        self._kept.append(made)
        self._nbytes += sum(buffer.nbytes for buffer in made.buffers)
        made.spares = self.spares.setdefault(key, [])
        if made.live is None:
            made.spares.append(made)
        else:
            made.live.made = made
            self._nbytes += sum(buffer.nbytes for buffer in made.live.buffers)

    def forget(self) -> None:
        """Let all go: what they refer to has changed. Those under way end as if they had not been kept."""
        spare = {id(made) for spares in self.spares.values() for made in spares}
        for made in self._kept:
            self._buffers.give_back(made.buffers)
            if made.live is not None:
                if id(made) in spare:
                    self._buffers.give_back(made.live.buffers)
                made.live.made = None
        self.spares.clear()
        self._kept, self._nbytes = [], 0
