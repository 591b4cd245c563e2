"""Start MPI as the recorded program did: with MPI_Init, or MPI_Init_thread and its level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpi4py

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.transport.mpi import MPITransport

INITIALISERS = ("Init", "Init_thread")


def first_initialiser(trace: Trace) -> tuple[str, int | None]:
    """Return what the first rank in the trace called to start MPI, and the thread level it asked for.

    Without one in the trace (it may have been left out) that is mpi4py's own choice: ("", None).
    """
    for event in trace.walk(trace.ranks.first) if len(trace.ranks) else ():
        if event.op in INITIALISERS:
            return event.op, event.get("required")
        break
    return "", None


def start_mpi(trace: Trace | None, seed: int) -> MPITransport:
    """Start MPI and return its transport. mpi4py must not have been imported before."""
    op, level = first_initialiser(trace) if trace else ("", None)
    settings: Any = mpi4py.rc
    settings.initialize = not op
    settings.finalize = True
    from mpi4py import MPI

    if op and not MPI.Is_initialized():
        if op == "Init":
            MPI.Init()
        else:
            MPI.Init_thread(MPI.THREAD_MULTIPLE if level is None else level)
    from scalatrace.replay.transport.mpi import MPITransport

    return MPITransport(seed)
