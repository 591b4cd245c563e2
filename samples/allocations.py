"""A stat plug-in in Python: memory blocks that the interpreter gained, in the computation before each call.

    mpiexec -n 4 scalatrace record --stat samples/allocations.py:Allocations -- python samples/pickled.py
    scalatrace stats out.st --by site

Expect a large number at the first call, which comes after the imports, and small ones where objects were
made or unpickled and kept; a number below 0 says that objects went away.
"""

from __future__ import annotations

import sys

import scalatrace


class Allocations(scalatrace.Stat):
    """Blocks allocated and not freed between two calls."""

    name = "blocks"

    def start(self) -> None:
        self.before = sys.getallocatedblocks()

    def end(self) -> float:
        return sys.getallocatedblocks() - self.before
