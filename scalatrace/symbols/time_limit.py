"""A time limit for reading debug information, which can have gigabytes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["TimeUpError", "time_limit"]


class TimeUpError(Exception):
    """The time is over."""


@contextmanager
def time_limit(limit_s: float | None) -> Iterator[None]:
    """Raise TimeUpError in the context after so many seconds; None, and outside the main thread: no limit."""
    if limit_s is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    if limit_s <= 0:
        raise TimeUpError

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
