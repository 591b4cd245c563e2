"""Programs that call MPI from several threads: number of threads, elapsed time, unsupported uses.

The calls of all threads of a rank are one sequence, in the order in which they ended. Their times are those
of each thread, so they overlap: their sum is up to the number of threads times the elapsed time.
"""

from __future__ import annotations

from collections.abc import Mapping

from scalatrace.errors import UsageError
from scalatrace.trace.consistency.partial import part_note
from scalatrace.trace.model.trace import Trace

__all__ = ["check_one_thread", "elapsed_ns", "order_note", "thread_count"]

THREADS, ELAPSED = "threads", "elapsed-ns"
"""Entries of the header, where several threads of a rank made calls."""


def thread_count(meta: Mapping[str, str]) -> int:
    """Return the number of threads of a rank that made calls, by the header of a trace."""
    text = meta.get(THREADS, "")
    return max(1, int(text)) if text.isdecimal() and len(text) < 10 else 1


def elapsed_ns(trace: Trace) -> float | None:
    """Return the time of a rank between start-up and shut-down, in ns.

    None where one thread made all calls, so that their times add up to it, or where it was not recorded.
    """
    text = trace.meta.get(ELAPSED, "")
    if thread_count(trace.meta) < 2 or not text.isdecimal() or len(text) > 19:
        return None
    phases = trace.phases
    return max(float(text) - phases.start_up.mean_ns - phases.shut_down.mean_ns, 0.0)


def check_one_thread(trace: Trace, what: str) -> None:
    """Raise UsageError where several threads of a rank made calls; `what` cannot be done then."""
    if (n := thread_count(trace.meta)) > 1:
        raise UsageError(
            f"cannot {what}: the program calls MPI from {n} threads of a rank, whose times overlap and whose "
            "order is not fixed; record it with calls from one thread only"
        )


def order_note(trace: Trace) -> str:
    """Return why calls of a trace may wait for ever although the program ended; "": not known.

    Threads of two ranks may have ended their calls in different orders, and the trace has one order per rank.
    A part of a program may lack the partners of its calls.
    """
    if (n := thread_count(trace.meta)) < 2:
        return part_note(trace)
    return (
        f"{n} threads of a rank called MPI, and the trace does not know which one made a call; "
        "one thread would make all in the order in which they ended, "
        "so ranks may wait for each other for ever"
    )
