"""Pauses between polls: first the processor is yielded, then the process sleeps for increasing times.

Where ranks share cores, each poll takes time from the rank that is waited for. When sixteen ranks on two
cores poll without a pause, the one that computes gets an eighth of a core.
"""

from __future__ import annotations

import contextlib
import ctypes
import time

EAGER = 8
"""Polls without result before the first sleep."""

NAP_S = 50e-6
"""Seconds of the first sleep; the system adds about as much."""

NAP_FACTOR, MAX_NAP_S = 1.25, 500e-6
"""Factor from one sleep to the next, and the longest."""


def sleep_precisely() -> None:
    """Let sleeps of this process end on time, not up to 50 us later, where the system can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)


PR_SET_TIMERSLACK = 29


class Backoff:
    """The pauses of one wait."""

    __slots__ = ("_eager", "_left", "_nap_s")

    def __init__(self, shares_cores: bool) -> None:
        """Take whether ranks share cores; a rank with a core of its own never sleeps."""
        self._eager = EAGER if shares_cores else -1
        self.reset()

    def reset(self) -> None:
        """Start again with the shortest pause: a poll had a result."""
        self._left, self._nap_s = self._eager, NAP_S

    def after_poll(self, succeeded: bool) -> None:
        """Pause after a poll without result."""
        if succeeded:
            self.reset()
        else:
            self.pause()

    def pause(self) -> None:
        """Let other processes run before the next poll."""
        if self._left:
            self._left -= self._left > 0
            time.sleep(0)
            return
        time.sleep(self._nap_s)
        self._nap_s = min(NAP_FACTOR * self._nap_s, MAX_NAP_S)
