"""Whether ranks share cores.

A launcher may bind each rank to some cores. So the cores of all ranks of the machine are compared with their
number.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from mpi4py import MPI

from scalatrace.replay.transport import clibrary
from scalatrace.replay.transport.args import Constant, Out, Ref

CORES = 1 << 12
"""Of a machine, at most; those beyond are taken for one another."""


def are_shared(quiet: Callable[..., None]) -> bool:
    """Return, on all ranks of this machine, whether they share cores; `quiet` makes calls past any tracer."""
    machine, size = MPI.Comm(), Out()
    quiet("Comm_split_type", MPI.COMM_WORLD, MPI.COMM_TYPE_SHARED, 0, Constant.INFO_NULL, Ref(machine))
    quiet("Comm_size", machine, size)
    mine, all_of_us = (ctypes.c_ubyte * CORES)(), (ctypes.c_ubyte * CORES)()
    for core in os.sched_getaffinity(0):
        mine[core % CORES] = 1
    rooms = clibrary.address(mine, 0), clibrary.address(all_of_us, 0)
    quiet("Allreduce", *rooms, CORES, MPI.BYTE, MPI.BOR, machine)
    quiet("Comm_free", Ref(machine))
    return size.value > sum(all_of_us)
