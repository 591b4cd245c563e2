"""Say that several threads of a rank called MPI: a trace has their calls in the order in which they ended.

Threads of two ranks may have been served in different orders. Where one thread of a rank makes the calls in
this order, ranks wait for each other for ever.
"""

from __future__ import annotations

from scalatrace.trace.model.trace import Trace

__all__ = ["called_by_threads", "threads_note"]

THREADS = "threads"
"""Key of the header for the most threads of a rank that called MPI; only there if they are several."""


def called_by_threads(trace: Trace) -> int:
    """Return the most threads of a rank that called MPI; 1 where only one did."""
    text = trace.meta.get(THREADS, "")
    return int(text) if text.isdecimal() else 1


def threads_note(trace: Trace) -> str:
    """Return why calls of a trace may wait for ever although the program ended; "": for no such reason."""
    count = called_by_threads(trace)
    if count < 2:
        return ""
    return (
        f"{count} threads of a rank called MPI, and the trace does not know which one made a call; "
        "one thread would make all in the order in which they ended, "
        "so ranks may wait for each other for ever"
    )
