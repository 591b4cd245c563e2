"""A terminal in place of standard error or output."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

__all__ = ["Terminal", "terminal"]


@dataclass
class Terminal:
    """What was written to a terminal so far."""

    fd: int
    read: bytes = field(default=b"")

    @property
    def text(self) -> str:
        while select.select([self.fd], [], [], 0)[0]:
            self.read += os.read(self.fd, 1 << 16)
        return self.read.decode()


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
        stream.flush()
        assert result.text is not None  # read before the terminal is gone
    os.close(master)
