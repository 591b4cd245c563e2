"""Programs that call MPI from several threads: number of threads, elapsed time, unsupported uses.

Under MPI_THREAD_MULTIPLE the calls of each thread are a stream (`Trace.has_streams`). Below it, and in traces
of earlier versions, those of all threads of a rank are one sequence, in the order in which they ended. Times
are those of each thread, so they overlap: their sum is up to the number of threads times the elapsed time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from scalatrace.errors import ScalatraceError
from scalatrace.trace.consistency.partial import part_note
from scalatrace.trace.model.elastic import Elastic, at
from scalatrace.trace.model.tables import SharedKind, UseName
from scalatrace.trace.model.trace import Trace

__all__ = [
    "ObjectName",
    "UseOrder",
    "check_no_streams",
    "check_one_order",
    "check_one_thread",
    "elapsed_ns",
    "order_note",
    "thread_count",
    "uses_of_rank",
]

THREADS, ELAPSED = "threads", "elapsed-ns"
"""Entries of the header, where several threads of a rank made calls."""


ObjectName = tuple[SharedKind, int, int]
"""A name of `Trace.uses`, and the number of the object with this name."""


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


def check_one_thread(trace: Trace, use: str) -> None:
    """Raise ScalatraceError where several threads of a rank made calls; `use` cannot be done then."""
    if (n := thread_count(trace.meta)) > 1:
        raise ScalatraceError(
            f"cannot {use}: the program calls MPI from {n} threads of a rank, whose times overlap and whose "
            "order is not fixed; record it with calls from one thread only"
        )


def check_one_order(trace: Trace, use: str) -> None:
    """Raise ScalatraceError where calls of several threads of a rank are one sequence."""
    if not trace.has_streams:
        check_one_thread(trace, use)


def check_no_streams(trace: Trace, use: str) -> None:
    """Raise ScalatraceError where threads of a rank have streams of their own; `use` cannot be done then."""
    if trace.has_streams:
        raise ScalatraceError(
            f"cannot {use}: {len(trace.threads)} threads of a rank call MPI, and this takes one thread of "
            "each rank; `replay`, `simulate`, `generate` and `stats` take several. Record a run in which one "
            "calls MPI"
        )


def order_note(trace: Trace) -> str:
    """Return why calls of a trace may wait for ever although the program ended; "": not known.

    The executor runs streams side by side, with what they share in the order of the trace.

    Threads of two ranks may have ended their calls in different orders, and the trace has one order per rank.
    A part of a program may lack the partners of its calls.
    """
    if trace.has_streams or (n := thread_count(trace.meta)) < 2:
        return part_note(trace)
    return (
        f"{n} threads of a rank called MPI, and the trace does not know which one made a call; "
        "one thread would make all in the order in which they ended, "
        "so ranks may wait for each other for ever"
    )


def uses_of_rank(uses: Mapping[UseName, Elastic], rank: int) -> dict[ObjectName, list[int]]:
    """Return the entries of each object that threads of a rank share: the order in which they use it.

    An entry is 2 * thread, plus 1 for calls that threads may make at the same time. A vec of `uses` has for
    each object the number of objects since the one before, the number of its entries, and these.

    Raises ValueError where the numbers of entries contradict the vec.
    """
    result: dict[ObjectName, list[int]] = {}
    for (kind, name), value in uses.items():
        if (vec := at(value, rank)) is None:
            continue
        values = iter(vec)
        ordinal = -1
        for difference in values:
            ordinal += 1 + difference
            n = next(values, 0)
            entries = [entry for _, entry in zip(range(n), values, strict=False)]
            if difference < 0 or n < 1 or len(entries) < n or min(entries) < 0:
                raise ValueError("the order of threads on an object is damaged")
            result[kind, name, ordinal] = entries
    return result


class UseOrder:
    """The order in which threads use one object; calls that may overlap are a group without an order."""

    def __init__(self, entries: list[int]) -> None:
        self._entries, self._next = entries, 0
        self._group = Counter[int]()
        self._running = 0
        self._find_group()

    def _find_group(self) -> None:
        while self._next < len(self._entries) and self._entries[self._next] % 2:
            self._group[self._entries[self._next] // 2] += 1
            self._next += 1

    def is_ready(self, thread: int) -> bool:
        """Return whether the next use is of this thread."""
        if self._group[thread] > 0:
            return True
        busy = self._running or any(self._group.values())
        return not busy and self._next < len(self._entries) and self._entries[self._next] == 2 * thread

    def begin(self, thread: int) -> None:
        """Begin a use that is ready."""
        if self._group[thread] > 0:
            self._group[thread] -= 1
        else:
            self._next += 1
        self._running += 1

    def end(self) -> None:
        """End a use that has begun."""
        self._running -= 1
        if not self._running and not any(self._group.values()):
            self._find_group()

    def waits_for(self) -> int | None:
        """Return a thread whose use has to begin before those of others; None: all have begun."""
        group = next((thread for thread, n in self._group.items() if n > 0), None)
        if group is not None or self._next >= len(self._entries):
            return group
        return self._entries[self._next] // 2
