"""Template of a statistic in Python: copy it, rename the class, and measure a quantity of your own.

    stat=samples/plugins/stat_template.py:Collections
    mpiexec -n 4 scalatrace record --stat $stat -o a.st -- python samples/ring.py
    scalatrace stats a.st --by site

Expect a statistic `collections` with one sample per MPI call. `NAME:call` measures inside the call instead
of the computation before it, `NAME:both` both.
"""

from __future__ import annotations

import gc

import scalatrace


class Collections(scalatrace.Stat):
    """Runs of Python's garbage collector. Each thread that calls MPI has an instance of its own."""

    # Name in the trace, with the unit last ("memory_bytes"). Required.
    name = "collections"
    # Samples are kept as multiples of this number; 1 for counts and nanoseconds.
    resolution = 1.0
    # True for levels such as memory in use, which have no sum; False for amounts.
    level = False

    def start(self) -> None:
        """Begin a window. `self.operation`: the MPI operation; `self.inside`: inside the call."""
        self.before = _collections()

    def end(self) -> float:
        """Return the sample of this window, or `math.nan` for none."""
        return _collections() - self.before


def _collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())
