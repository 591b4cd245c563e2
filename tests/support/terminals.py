"""A terminal in place of standard error or output."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

__all__ = ["Terminal", "terminal"]


class Terminal:
    """What was written to a terminal so far. A thread reads it: a full one would stop who writes.

    Args:
        fd: of the master; `end` waits for the end of its other side.
    """

    def __init__(self, fd: int) -> None:
        self._fd, self._read = fd, bytearray()
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self) -> None:
        with suppress(OSError):  # EIO: the other side is closed
            while data := os.read(self._fd, 1 << 16):
                self._read += data

    def end(self) -> None:
        """Wait until all is read, after the other side was closed."""
        self._reader.join(timeout=10)
        os.close(self._fd)

    @property
    def text(self) -> str:
        """What was read; a moment is left for what was written just now."""
        known = -1
        while known < len(self._read):
            known = len(self._read)
            time.sleep(0.02)
        return self._read.decode()


@contextmanager
def terminal(patch: pytest.MonkeyPatch, *streams: str) -> Iterator[Terminal]:
    """Put one terminal in place of `stderr`, `stdout` or both."""
    master, slave = os.openpty()
    patch.delenv("NO_COLOR", raising=False)
    patch.setenv("TERM", "xterm-256color")
    result = Terminal(master)
    with open(slave, "w", encoding="utf-8") as stream, patch.context() as inner:
        for name in streams:
            inner.setattr(sys, name, stream)
        yield result
    result.end()
