"""Lines of text from all ranks to rank 0, over TCP: no MPI call is involved but to find each other."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from scalatrace.launched import on_one_node

if TYPE_CHECKING:
    from scalatrace.replay.transport.mpi import MPITransport

__all__ = ["Heartbeats", "connected"]

CONNECT_S = 5.0
"""Seconds to find each other."""

STRANGER_S = 1.0
"""Seconds in which a connection has to say whose it is."""

CHUNK = 1 << 16
"""Bytes that are read at once."""


class Heartbeats:
    """The connections of a rank: to rank 0, or on rank 0 to all others."""

    def __init__(self, sockets: dict[int, socket.socket]) -> None:
        self._sockets, self._unsent = sockets, b""
        self._parts = dict.fromkeys(sockets, b"")
        for one in sockets.values():
            one.setblocking(False)

    def send(self, line: str) -> None:
        """Send a line to rank 0; drop it while rank 0 has not read the one before."""
        for one in self._sockets.values():
            with suppress(OSError):
                self._unsent = self._unsent or line.encode() + b"\n"
                self._unsent = self._unsent[one.send(self._unsent) :]

    def received(self) -> Iterator[tuple[int, str | None]]:
        """Yield the lines that have come, with the ranks that sent them; None for one that has left."""
        for rank, one in list(self._sockets.items()):
            try:
                while data := one.recv(CHUNK):
                    self._parts[rank] += data
                one.close()
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
        for one in self._sockets.values():
            one.close()


def connected(transport: MPITransport) -> Heartbeats | None:
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
            sockets = _accepted(server, transport.size, token)
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


def _accepted(server: socket.socket, size: int, token: str) -> dict[int, socket.socket]:
    """Return the connections of all other ranks, as far as they come in time. Others are refused."""
    sockets: dict[int, socket.socket] = {}
    end_s = time.monotonic() + CONNECT_S
    while len(sockets) < size - 1 and (left_s := end_s - time.monotonic()) > 0:
        server.settimeout(left_s)
        try:
            one, _ = server.accept()
        except OSError:
            break
        rank = _rank_of(one, size, token)
        if rank is None:
            one.close()
        else:
            sockets[rank] = one
    return sockets


def _rank_of(one: socket.socket, size: int, token: str) -> int | None:
    """Return the rank at the other end of a connection; None if it is none of this job."""
    one.settimeout(STRANGER_S)
    with suppress(OSError, ValueError):
        text = one.recv(len(token) + 9, socket.MSG_WAITALL).decode(errors="replace")
        if secrets.compare_digest(text[: len(token)].encode(), token.encode()):
            rank = int(text[len(token) :])
            return rank if 0 < rank < size else None
    return None
