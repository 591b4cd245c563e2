"""Start MPI with the thread level that the recorded program had: with more, each call takes longer."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mpi4py

from scalatrace.errors import ScalatraceError
from scalatrace.predefined import known_thread_level

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.transport.mpi import MPITransport

INITIALISERS = ("Init", "Init_thread")
INTERRUPTED = 130

__all__ = ["begins_with_start", "report_failure", "run_on_all_ranks", "start_mpi"]


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


def report_failure(failure: str, transport: MPITransport) -> bool:
    """Return whether any rank has a failure; rank 0 prints it, once if it is the same on all.

    A rank must not leave before: the launcher would end the others before the failure is printed.
    """
    gathered = transport.gather(failure.encode())
    for message in dict.fromkeys(gathered or ()):
        if message:
            print(f"scalatrace: {message.decode()}", file=sys.stderr, flush=True)
    return transport.any(bool(failure))


def run_on_all_ranks(work: Callable[[], int], transport: MPITransport, purpose: str) -> int:
    """Return the exit status of `work`; an exception on one rank ends all ranks, which would wait for it.

    Args:
        purpose: for errors of the system without a file ("the replay").
    """
    try:
        return work()
    except ScalatraceError as error:
        transport.abort(f"scalatrace: {error}")
    except OSError as error:
        transport.abort(f"scalatrace: {error.filename or purpose}: {error.strerror}")
    except KeyboardInterrupt:
        transport.abort("scalatrace: interrupted" if transport.rank == 0 else "", INTERRUPTED)
    except Exception:
        # A fault of ours on one rank: the others would wait for it for ever.
        transport.abort(traceback.format_exc())
    return 1
