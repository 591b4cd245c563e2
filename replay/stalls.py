"""End a replay in which nothing moves, and say which rank waits where.

Every rank has a thread that sends the rank's position to rank 0 now and then, over a connection of its own:
MPI may have been started without threads, and all its calls may hang. A rank moves when it makes another
call, or while it waits for the end of a computation.

    rank 1 ... n - 1: position -> line of JSON -> socket -> rank 0: when has each rank moved last?
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from scalatrace.replay.common.position import Position
from scalatrace.replay.transport.heartbeats import Heartbeats, connected

if TYPE_CHECKING:
    from scalatrace.replay.transport.mpi import MPITransport

__all__ = ["Stalls", "watched"]

MAX_RANKS = 512
"""Ranks that are watched: rank 0 has a connection to each."""

MAX_PERIOD_S = 5.0
"""Seconds between two lines of a rank; less for a short limit."""

LEAVING_S = 0.2
"""Seconds between two looks at the other ranks when rank 0 has made all its calls."""

ABORT_S = 10.0
"""Seconds that MPI_Abort may take; then this process ends by itself."""

PRINT_S = 0.5
"""Seconds that a launcher gets to pass the report on: some end with the ranks at once."""

MAX_PLACES = 20
"""Places that a report names."""


class Stalls:
    """Positions of all ranks, and when each has moved last. Times are in seconds, of a monotonic clock."""

    def __init__(self, nranks: int, limit_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._positions: dict[int, Position] = {}
        self._moved_s = dict.fromkeys(range(nranks), now_s)

    @property
    def has_ranks(self) -> bool:
        """Whether some rank has calls left."""
        return bool(self._moved_s)

    def move(self, rank: int, position: Position, now_s: float) -> None:
        """Take the position of a rank."""
        if rank in self._moved_s and (position.computes or position != self._positions.get(rank)):
            self._moved_s[rank] = now_s
        self._positions[rank] = position

    def leave(self, rank: int) -> None:
        """Take no notice of a rank any more: it has made all its calls."""
        self._moved_s.pop(rank, None)

    def report(self, now_s: float) -> str | None:
        """Return where the ranks wait, when none of them has moved for the limit; else None."""
        if not self._moved_s or any(now_s - then < self._limit_s for then in self._moved_s.values()):
            return None
        places: dict[str, list[int]] = {}
        for rank in sorted(self._moved_s):
            places.setdefault(str(self._positions.get(rank, "no report received")), []).append(rank)
        lines = [f"  {_ranks(ranks)}: {place}" for place, ranks in places.items()]
        more = [f"  and {len(lines) - MAX_PLACES} other places"] if len(lines) > MAX_PLACES else []
        head = f"nothing has moved for {self._limit_s:g} s (--stall-limit); the ranks wait in"
        return "\n".join([head, *lines[:MAX_PLACES], *more])


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > MAX_PLACES:
        return f"{len(ranks)} ranks from {ranks[0]} to {ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks))}"


@contextmanager
def watched(transport: MPITransport, limit_s: float, position: Callable[[], Position]) -> Iterator[None]:
    """End all ranks, with a report, when none has moved for a limit in the context. All ranks enter it.

    Args:
        limit_s: 0 for no limit.
        position: where this rank is; called by another thread.
    """
    if not limit_s or transport.size > MAX_RANKS:
        yield
        return
    beats = connected(transport)
    if beats is None:  # no connections between the nodes
        yield
        return
    ended = threading.Event()
    target = partial(_send, limit_s) if transport.rank else partial(_watch, transport, limit_s)
    thread = threading.Thread(target=target, args=(position, beats, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        if transport.rank:
            thread.join()  # rank 0 goes on until all others have left, too


def _send(
    limit_s: float, position: Callable[[], Position], beats: Heartbeats, ended: threading.Event
) -> None:
    """Send the position of a rank other than 0 until it has made all its calls."""
    while not ended.wait(min(MAX_PERIOD_S, limit_s / 4)):
        beats.send(json.dumps(asdict(position())))
    beats.close()


def _watch(
    transport: MPITransport,
    limit_s: float,
    position: Callable[[], Position],
    beats: Heartbeats,
    ended: threading.Event,
) -> None:
    """Take the positions of all ranks, on rank 0, until all have made all their calls."""
    stalls = Stalls(transport.size, limit_s, time.monotonic())
    period_s = min(MAX_PERIOD_S, limit_s / 4)
    while stalls.has_ranks:
        if ended.is_set():
            stalls.leave(0)
            time.sleep(min(period_s, LEAVING_S))
        elif not ended.wait(period_s):
            stalls.move(0, position(), time.monotonic())
        now_s = time.monotonic()
        for rank, line in beats.received():
            if line is None:
                stalls.leave(rank)
            else:
                stalls.move(rank, Position(**json.loads(line)), now_s)
        if report := stalls.report(now_s):
            print(f"scalatrace: {report}", file=sys.stderr, flush=True)
            time.sleep(PRINT_S)
            threading.Timer(ABORT_S, os._exit, (1,)).start()
            transport.abort("")
    beats.close()
