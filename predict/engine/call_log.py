"""Times of each call of some ranks in a simulated run.

A run keeps sums, and multiplies iterations of loops that are equal; with a log it simulates each call, and
notes the times of those that are wanted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import LimitError
from scalatrace.executor import binding
from scalatrace.executor.fields import pointer
from scalatrace.executor.program import LoweredProgram
from scalatrace.trace.model.trace import Trace

__all__ = ["MAX_LOGGED_CALLS", "CallLog"]

MAX_LOGGED_CALLS = 1 << 26
"""Calls whose times are kept: 1 GiB."""


class CallLog:
    """Times of the calls of some lines: ranks, or threads of them.

    Args:
        lines: rank and thread.
        max_calls: of each line that are wanted, from the first one on; None: all.
        causes: note which process let the waits of each call end, too.

    Raises:
        LimitError: the calls are more than MAX_LOGGED_CALLS.
    """

    def __init__(
        self,
        trace: Trace,
        program: LoweredProgram,
        lines: Iterable[tuple[int, int]],
        max_calls: int | None = None,
        causes: bool = False,
    ) -> None:
        further = [(stream.rank, stream.thread) for stream in program.threads.streams]
        self._processes = {(rank, 0): rank for rank in range(trace.nprocs)}
        self._processes |= {line: trace.nprocs + number for number, line in enumerate(further)}
        counts = np.zeros(len(self._processes), dtype=np.int64)
        for rank, thread in lines:
            count = sum(1 for _ in trace.walk(rank, thread)) if trace.has_streams else trace.nevents(rank)
            counts[self._processes[rank, thread]] = count if max_calls is None else min(count, max_calls)
        total = int(counts.sum())
        if total > MAX_LOGGED_CALLS:
            raise LimitError(
                f"times of {total:,} calls need too much memory, the limit is {MAX_LOGGED_CALLS:,}; "
                "choose fewer ranks"
            )
        self._places = np.concatenate(([0], np.cumsum(counts)))
        self._times = np.zeros((total, 2), dtype=np.int64)
        self._causes = np.full((total, 4), -1, dtype=np.int64) if causes else None

    def receive(self, result: binding.EngineResult) -> None:
        """Let a run write the times here."""
        result.times_at = pointer(self._places, ctypes.c_int64)
        result.times = pointer(self._times, ctypes.c_int64)
        if self._causes is not None:
            result.causes = pointer(self._causes, ctypes.c_int64)

    def causes_of(self, rank: int) -> Ints:
        """Return [calls, 4]: node; process that let the last wait end, or -1; in which call; when, in ps."""
        assert self._causes is not None
        causes: Ints = self._causes[self._places[rank] : self._places[rank + 1]]
        return causes

    def of(self, rank: int, thread: int = 0) -> Ints:
        """Return [calls, 2] beginning, after the computation before it, and end of each call, in ps."""
        process = self._processes[rank, thread]
        times: Ints = self._times[self._places[process] : self._places[process + 1]]
        return times
