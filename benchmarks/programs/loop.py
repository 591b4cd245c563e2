"""An mpi4py loop of sends to nobody under so many Python frames; prints ns of CPU per call and peak KiB.

python loop.py CALLS FRAMES
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

from mpi4py import MPI


def nested(depth: int, work: Callable[[], float]) -> float:
    """Call `work` with `depth` frames of this function above it."""
    return nested(depth - 1, work) if depth > 1 else work()


def sends(calls: int) -> float:
    """ns of CPU per call."""
    comm, buffer, nobody = MPI.COMM_WORLD, [bytearray(8), MPI.CHAR], MPI.PROC_NULL
    before = time.process_time_ns()
    for _ in range(calls):
        comm.Send(buffer, nobody)
    return (time.process_time_ns() - before) / max(calls, 1)


if __name__ == "__main__":
    ncalls, frames = int(sys.argv[1]), int(sys.argv[2])
    # The module, the lambda and sends() are frames too.
    nested(frames - 3, lambda: sends(ncalls // 10))
    each = nested(frames - 3, lambda: sends(ncalls))
    print(f"{each:.1f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
