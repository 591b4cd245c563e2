"""Start MPI with the thread level that the recorded program had: with more, each call takes longer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import mpi4py

from scalatrace.predefined import known_thread_level

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.transport.mpi import MPITransport

INITIALISERS = ("Init", "Init_thread")

__all__ = ["begins_with_start", "say_failure", "start_mpi"]


def begins_with_start(trace: Trace) -> bool:
    """Whether the first event is the start of MPI, which `record` leaves out."""
    first = next(iter(trace.walk(trace.ranks.first)), None) if len(trace.ranks) else None
    return first is not None and first.op in INITIALISERS


def start_mpi(trace: Trace | None, seed: int) -> MPITransport:
    """Start MPI and return its transport. mpi4py must not have been imported before.

    Without a level in the trace it is mpi4py's own.
    """
    settings: Any = mpi4py.rc
    settings.finalize = True
    if trace and (level := known_thread_level(trace.meta)):
        settings.thread_level = level
    from scalatrace.replay.transport.mpi import MPITransport

    return MPITransport(seed)


def say_failure(wrong: str, transport: MPITransport) -> bool:
    """Return whether something is wrong on any rank; rank 0 says it, once if it is the same on all.

    A rank must not just leave: the launcher would end the others before one of them has said why.
    """
    gathered = transport.gather(wrong.encode())
    for message in dict.fromkeys(gathered or ()):
        if message:
            print(f"scalatrace: {message.decode()}", file=sys.stderr, flush=True)
    return transport.any(bool(wrong))
