"""The predeclared variables of one task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["RunCounters"]

COUNTED = ("bit_errors", "bytes_sent", "bytes_received", "msgs_sent", "msgs_received")


class RunCounters:
    """Counts messages, bytes, wrong bits, and microseconds."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0)
        self._since_ns = time.perf_counter_ns()
        self._stored: list[tuple[dict[str, int], int]] = []

    def value(self, name: str) -> int:
        """Return a predeclared variable's value; elapsed_usecs in microseconds."""
        if name == "elapsed_usecs":
            return (time.perf_counter_ns() - self._since_ns) // 1000
        if name.startswith("total_"):
            what = name.removeprefix("total_")
            return self.counts[f"{what}_sent"] + self.counts[f"{what}_received"]
        return self.counts[name]

    def sent(self, messages: int, nbytes: int) -> None:
        """Count messages that left, and their bytes in all."""
        self.counts["msgs_sent"] += messages
        self.counts["bytes_sent"] += nbytes

    def received(self, messages: int, nbytes: int) -> None:
        """Count messages that came, and their bytes in all."""
        self.counts["msgs_received"] += messages
        self.counts["bytes_received"] += nbytes

    def reset(self) -> None:
        """Begin anew."""
        self.counts = dict.fromkeys(COUNTED, 0)
        self._since_ns = time.perf_counter_ns()

    def store(self) -> None:
        """Remember all values."""
        self._stored.append((dict(self.counts), time.perf_counter_ns() - self._since_ns))

    def restore(self) -> None:
        """Go back to the values last stored, as if nothing had happened since."""
        self.counts, elapsed_ns = self._stored.pop()
        self._since_ns = time.perf_counter_ns() - elapsed_ns

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let what is done inside take no time."""
        begin = time.perf_counter_ns()
        yield
        self._since_ns += time.perf_counter_ns() - begin
