"""Memory for payloads.

Sends share one random buffer: MPI only reads it. Each receive has a buffer of its own until it
completes; then the buffer is used again.
"""

from __future__ import annotations

import os
from typing import Any

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport.base import Transport, TransportBuffer

MIN_NBYTES = 64
PHYSICAL_NBYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


ATTACHED, BUFFERED = 1 << 24, 64
"""Memory for buffered sends: at least so many bytes, and room for so many of the largest messages."""


def attached_nbytes(largest: int) -> int:
    """Return the bytes to attach for buffered sends whose largest has so many bytes."""
    return max(ATTACHED, BUFFERED * largest)


class BufferPool:
    """The payload memory of one rank."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._random: TransportBuffer | None = None
        self._free: dict[int, list[TransportBuffer]] = {}
        self._old: list[TransportBuffer] = []

    def outgoing(self, nbytes: int) -> TransportBuffer:
        """Return at least `nbytes` of random content, to be read only."""
        if self._random is None or self._random.nbytes < nbytes:
            if self._random is not None:
                self._old.append(self._random)  # a send may still be reading it
            self._random = self._allocate(nbytes, random=True)
        return self._random

    def incoming(self, nbytes: int, user: str = "a message") -> TransportBuffer:
        """Return a buffer of at least `nbytes` for the caller alone, until it is given back."""
        size = size_class(nbytes)
        free = self._free.get(size)
        return free.pop() if free else self._allocate(nbytes, user)

    def _allocate(self, nbytes: int, user: str = "a message", random: bool = False) -> TransportBuffer:
        """Return a new buffer. Raises ReplayError where a datatype or a window needs more than there is."""
        try:
            if nbytes > PHYSICAL_NBYTES:
                raise MemoryError
            return self._transport.buffer(size_class(nbytes), random=random)
        except MemoryError:
            raise ReplayError(
                f"{user} spans {nbytes} bytes of memory, which this machine does not have; "
                f"the datatype may hold addresses of the recorded program"
            ) from None

    def give_back(self, buffers: list[Any]) -> None:
        """Take buffers back for later use."""
        for buffer in buffers:
            self._free.setdefault(buffer.nbytes, []).append(buffer)


def size_class(nbytes: int) -> int:
    """Return the power of two that `nbytes` are rounded up to."""
    return max(MIN_NBYTES, 1 << (nbytes - 1).bit_length()) if nbytes > 0 else MIN_NBYTES
