"""End a replay in which nothing moves, and say which rank waits where.

Every rank has a thread that sends the rank's position to rank 0 now and then, over a TCP connection of its
own: MPI may have been started without threads, and all its calls may hang. A rank moves when it makes another
call, or while it waits for the end of a computation.

    rank 1 ... n - 1: position -> line of JSON -> socket -> rank 0: when has each rank moved last?
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from scalatrace.launched import on_one_node
from scalatrace.replay.common.position import ReplayPosition

if TYPE_CHECKING:
    from scalatrace.replay.transport.mpi import MPITransport

__all__ = ["Stalls", "watch_for_stalls"]

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


CONNECT_S = 5.0
"""Seconds to find each other."""

STRANGER_S = 1.0
"""Seconds in which a connection has to say whose it is."""

CHUNK = 1 << 16
"""Bytes that are read at once."""


class Stalls:
    """Positions of all ranks, and when each has moved last. Times are in seconds, of a monotonic clock."""

    def __init__(self, nranks: int, limit_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._positions: dict[int, ReplayPosition] = {}
        self._moved_s = dict.fromkeys(range(nranks), now_s)

    @property
    def has_ranks(self) -> bool:
        """Whether some rank has calls left."""
        return bool(self._moved_s)

    def move(self, rank: int, position: ReplayPosition, now_s: float) -> None:
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
def watch_for_stalls(
    transport: MPITransport, limit_s: float, position: Callable[[], ReplayPosition]
) -> Iterator[None]:
    """End all ranks, with a report, when none has moved for a limit in the context. All ranks enter it.

    Args:
        limit_s: 0 for no limit.
        position: where this rank is; called by another thread.
    """
    if not limit_s or transport.size > MAX_RANKS:
        yield
        return
    beats = connect(transport)
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
    limit_s: float, position: Callable[[], ReplayPosition], beats: Heartbeats, ended: threading.Event
) -> None:
    """Send the position of a rank other than 0 until it has made all its calls."""
    while not ended.wait(min(MAX_PERIOD_S, limit_s / 4)):
        beats.send(json.dumps(asdict(position())))
    beats.close()


def _watch(
    transport: MPITransport,
    limit_s: float,
    position: Callable[[], ReplayPosition],
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
        for rank, line in beats.receive():
            if line is None:
                stalls.leave(rank)
            else:
                stalls.move(rank, ReplayPosition(**json.loads(line)), now_s)
        if report := stalls.report(now_s):
            print(f"scalatrace: {report}", file=sys.stderr, flush=True)
            time.sleep(PRINT_S)
            threading.Timer(ABORT_S, os._exit, (1,)).start()
            transport.abort("")
    beats.close()


class Heartbeats:
    """The connections of a rank: to rank 0, or on rank 0 to all others."""

    def __init__(self, sockets: dict[int, socket.socket]) -> None:
        self._sockets, self._unsent = sockets, b""
        self._parts = dict.fromkeys(sockets, b"")
        for connection in sockets.values():
            connection.setblocking(False)

    def send(self, line: str) -> None:
        """Send a line to rank 0; drop it while rank 0 has not read the one before."""
        for connection in self._sockets.values():
            with suppress(OSError):
                self._unsent = self._unsent or line.encode() + b"\n"
                self._unsent = self._unsent[connection.send(self._unsent) :]

    def receive(self) -> Iterator[tuple[int, str | None]]:
        """Yield the lines that have come, with the ranks that sent them; None for one that has left."""
        for rank, connection in list(self._sockets.items()):
            try:
                while data := connection.recv(CHUNK):
                    self._parts[rank] += data
                connection.close()
                del self._sockets[rank]
                yield rank, None
            except BlockingIOError:
                *lines, self._parts[rank] = self._parts[rank].split(b"\n")
                yield from ((rank, line.decode()) for line in lines)
            except OSError:
                del self._sockets[rank]
                yield rank, None

    def close(self) -> None:
        """Close the connections."""
        for connection in self._sockets.values():
            connection.close()


def connect(transport: MPITransport) -> Heartbeats | None:
    """Return the connections of this rank; None, on all ranks, when some cannot reach rank 0."""
    sockets: dict[int, socket.socket] = {}
    server, address = None, b""
    if transport.rank == 0:
        with suppress(OSError):
            server = socket.create_server(("127.0.0.1" if on_one_node() else "", 0), backlog=transport.size)
            server.settimeout(CONNECT_S)
            host = "127.0.0.1" if on_one_node() else socket.gethostname()
            address = json.dumps([host, server.getsockname()[1], secrets.token_hex(16)]).encode()
    address = transport.broadcast(address)
    try:
        if not address:
            raise OSError
        host, port, token = json.loads(address)
        if server is not None:
            sockets = _accept(server, transport.size, token)
        else:
            sockets[0] = socket.create_connection((host, port), CONNECT_S)
            sockets[0].sendall(f"{token} {transport.rank:8}".encode())
    except OSError:
        sockets = {}
    finally:
        if server is not None:
            server.close()
    beats = Heartbeats(sockets)
    if transport.any(len(sockets) < (transport.size - 1 if transport.rank == 0 else 1)):
        beats.close()
        return None
    return beats


def _accept(server: socket.socket, size: int, token: str) -> dict[int, socket.socket]:
    """Return the connections of all other ranks, as far as they come in time. Others are refused."""
    sockets: dict[int, socket.socket] = {}
    end_s = time.monotonic() + CONNECT_S
    while len(sockets) < size - 1 and (left_s := end_s - time.monotonic()) > 0:
        server.settimeout(left_s)
        try:
            connection, _ = server.accept()
        except OSError:
            break
        rank = _rank_of(connection, size, token)
        if rank is None:
            connection.close()
        else:
            sockets[rank] = connection
    return sockets


def _rank_of(connection: socket.socket, size: int, token: str) -> int | None:
    """Return the rank at the other end of a connection; None if it is none of this job."""
    connection.settimeout(STRANGER_S)
    with suppress(OSError, ValueError):
        text = connection.recv(len(token) + 9, socket.MSG_WAITALL).decode(errors="replace")
        if secrets.compare_digest(text[: len(token)].encode(), token.encode()):
            rank = int(text[len(token) :])
            return rank if 0 < rank < size else None
    return None
