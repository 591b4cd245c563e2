"""How to wait between two polls: at first by letting others run, then asleep.

Where ranks share cores, each poll takes time from the rank that is waited for: of sixteen ranks on two cores
that poll without rest, the one that computes gets an eighth of a core.
"""

from __future__ import annotations

import contextlib
import ctypes
import time

EAGER = 8
"""Polls in vain before the first nap."""

NAP_S = 50e-6
"""Seconds asleep; the system adds about as much."""

LONGER, LONGEST_S = 1.25, 500e-6
"""Each nap is so much longer than the one before, up to this: who has waited long waits a little longer."""


def sleep_precisely() -> None:
    """Let this process's sleeps end when they are to, not up to 50 us later, where the system can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)


PR_SET_TIMERSLACK = 29


class Patience:
    """One wait for something that is polled for."""

    __slots__ = ("_eager", "_left", "_nap_s")

    def __init__(self, shares_cores: bool) -> None:
        """Wait as a rank that has a core of its own, and need not sleep, or shares one."""
        self._eager = EAGER if shares_cores else -1
        self.came()

    def came(self) -> None:
        """Begin anew: something was there."""
        self._left, self._nap_s = self._eager, NAP_S

    def polled(self, found: bool) -> None:
        """Go on after a poll: at once when it found something."""
        if found:
            self.came()
        else:
            self.rest()

    def rest(self) -> None:
        """Let others run before the next poll."""
        if self._left:
            self._left -= self._left > 0
            time.sleep(0)
            return
        time.sleep(self._nap_s)
        self._nap_s = min(LONGER * self._nap_s, LONGEST_S)
