"""Replay of one rank by a compiled program: a library of generated C in this process.

In: C text that `codegen` wrote for a host (its C interface: codegen/emit/runtime/hosted.c), the MPI that this
process has loaded. Out: the result that `run` has.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scalatrace.compilers.generated import GeneratedKind, ended_by_interrupt, load
from scalatrace.operations import operation
from scalatrace.replay.common.options import ComputeMode, ReplayOptions
from scalatrace.replay.common.position import ReplayPosition
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.player import Report
from scalatrace.replay.engine.senders import Senders, senders_of
from scalatrace.replay.probabilistic.largest import is_buffered, largest_sent
from scalatrace.replay.result import RankResult
from scalatrace.replay.run import Watch
from scalatrace.replay.start import begins_with_start
from scalatrace.replay.transport.buffers import attached_nbytes

if TYPE_CHECKING:
    from pathlib import Path

    from scalatrace import Trace
    from scalatrace.replay.transport.mpi import MPITransport

__all__ = ["ALL_FIT", "REPLAY", "UNPLANNED", "Library", "load_library", "run_compiled"]

REPORT_S = 1.0
"""Seconds between two reports of progress."""


CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

INT_MAX = 2**31 - 1

ALL_FIT, UNPLANNED = -1, -2
"""In place of a sender: any message fits; it is the sender of the first message that matches."""

LARGE = "_c"
"""How the names of calls with large counts end; a trace names both forms alike."""

_Stop = ctypes.CFUNCTYPE(None, ctypes.c_char_p)

_Sender = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)

REPLAY = GeneratedKind(
    "replay", "the compiled replay", "this replay", "compiling the replay (kept for the next one)"
)


def load_library(path: Path, trace: Trace, transport: MPITransport, options: ReplayOptions) -> Library:
    """Load a compiled replay for this rank. Raises ScalatraceError."""

    def stop(message: str) -> None:
        transport.abort(f"scalatrace: rank {transport.rank}, {message}")

    first = 1 if begins_with_start(trace) else 0
    largest = largest_sent(trace, transport.rank, WhatIf(options.rules), is_buffered)
    sleeps = options.compute is ComputeMode.SLEEP
    nbytes = attached_nbytes(largest)
    sender = _sender(senders_of(trace, transport.rank))
    recorder = transport.any_source_recorder if sender else 0
    return Library(path, options.seed, sleeps, nbytes, first, stop, sender, recorder)


def _sender(senders: Senders) -> Callable[[int, int], int] | None:
    """Return what gives the sender of a receive; None where all messages fit."""

    def sender(family: int, from_any: int) -> int:
        if family not in senders or (not from_any and senders.has_plan(family)):
            return ALL_FIT
        planned = senders.next(family) if from_any else None
        return UNPLANNED if planned is None else planned

    return sender if senders else None


def run_compiled(
    trace: Trace,
    transport: MPITransport,
    library: Library,
    options: ReplayOptions,
    report: Report | None,
    watch: Watch,
) -> RankResult:
    """Make all calls of the transport's rank, watched and reported as in `run`. Errors of MPI end all ranks.

    Raises:
        OSError: the folder for files cannot be made.
    """
    if any(op.name.startswith("File_") for op in trace.ops):
        os.makedirs(options.io_folder, exist_ok=True)
    library.prepare()
    with watch(library.position), _report_progress(library, report), ended_by_interrupt():
        transport.gather(b"")  # start together, also with a rank that took long to prepare
        library.play()
    return RankResult(transport.rank, *library.times_ns, _sum_forms(library), library.left)


@contextmanager
def _report_progress(library: Library, report: Report | None) -> Iterator[None]:
    """Report regularly how many events are done, from a thread."""
    ended = threading.Event()

    def send_reports() -> None:
        while report and not ended.wait(REPORT_S):
            report(library.position().event)

    if report:
        threading.Thread(target=send_reports, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _sum_forms(library: Library) -> list[tuple[str, int, int, int, int]]:
    """The rows, both forms of an operation together."""
    sums: dict[tuple[str, int], list[int]] = {}
    for op, family, *amounts in library.rows():
        total = sums.setdefault((op, family), [0, 0, 0])
        total[:] = (a + b for a, b in zip(total, amounts, strict=True))
    return [(op, family, calls, ns, sent) for (op, family), (calls, ns, sent) in sums.items()]


class _TallyStruct(ctypes.Structure):
    pass


_TallyStruct._fields_ = [
    ("op", ctypes.c_char_p),
    ("comm", ctypes.c_int),
    ("calls", ctypes.c_long),
    ("bytes", ctypes.c_double),
    ("seconds", ctypes.c_double),
    ("next", ctypes.POINTER(_TallyStruct)),
]


class _Hosted(ctypes.Structure):
    _fields_ = [
        ("stop", _Stop),
        ("seed", ctypes.c_uint64),
        ("sleeps", ctypes.c_int),
        ("buffer_size", ctypes.c_int),
        ("counts", ctypes.c_int),
        ("sender", _Sender),
        ("as_any_source", ctypes.c_void_p),
        ("places", ctypes.POINTER(ctypes.c_char_p)),
        ("at", ctypes.POINTER(ctypes.c_int)),
        ("events", ctypes.POINTER(ctypes.c_long)),
        ("due", ctypes.POINTER(ctypes.c_double)),
        ("tallies", ctypes.POINTER(_TallyStruct)),
        ("wall", ctypes.c_double),
        ("computed", ctypes.c_double),
        ("between", ctypes.c_double),
        ("delayed", ctypes.c_double),
        ("left", ctypes.c_long),
    ]


def _kernel_counts() -> bool:
    """Return whether the kernel reads time from the counter of the processor, if it is constant."""
    try:
        return CLOCK_SOURCE.read_text().startswith("tsc")
    except OSError:
        return False


class Library:
    """The loaded library."""

    def __init__(
        self,
        path: Path,
        seed: int,
        sleeps: bool,
        buffered_nbytes: int,
        first_event: int,
        stop: Callable[[str], None],
        sender: Callable[[int, int], int] | None = None,
        as_any_source: int = 0,
    ) -> None:
        """Load a library.

        Args:
            sleeps: sleep in place of computing.
            buffered_nbytes: of the memory for buffered sends.
            first_event: number of the event of the first call.
            stop: called with a message when MPI returns an error; it ends all ranks.
            sender: (family of communicators, whether from any source) -> the planned sender of a receive, or
                one of ALL_FIT and UNPLANNED. None: all messages fit.
            as_any_source: address of the function that lets a tracer record such receives as they were.

        Raises:
            ScalatraceError: it cannot be loaded, or belongs to another MPI.
        """
        self._first_event = first_event
        self._code = load(REPLAY, path)

        def stopped(text: bytes) -> None:
            stop(f"{self.position()}: {text.decode(errors='replace')}")

        self._stop = _Stop(stopped)  # kept: the library has its address only
        self._sender = _Sender(sender) if sender else _Sender()  # kept: as `_stop`
        fields = {"sender": self._sender, "as_any_source": as_any_source or None}
        fields |= {"seed": seed & (2**64 - 1), "sleeps": sleeps, "buffer_size": min(buffered_nbytes, INT_MAX)}
        self._shared = _Hosted(stop=self._stop, counts=_kernel_counts(), **fields)

    def prepare(self) -> None:
        """Make datatypes, arrays and what else is there before the first call."""
        self._code.scalatrace_prepare(ctypes.byref(self._shared))

    def play(self) -> None:
        """Make all calls."""
        self._code.scalatrace_play()

    def position(self) -> ReplayPosition:
        """Return where the rank is; another thread may ask."""
        shared = self._shared
        if not shared.events:
            return ReplayPosition(0, "", False)
        computes = shared.due[0] > time.clock_gettime(time.CLOCK_MONOTONIC)
        if not (number := shared.events[0]):
            return ReplayPosition(0, "", computes)
        op, _, site = shared.places[shared.at[0]].decode(errors="replace").partition(" ")
        return ReplayPosition(number - 1 + self._first_event, op, computes, site)

    def rows(self) -> Iterator[tuple[str, int, int, int, int]]:
        """Yield (operation, communicator family, calls, nanoseconds in them, bytes sent).

        Nanoseconds of short calls are estimated: only some of them are timed, at random.
        """
        tally = self._shared.tallies
        while tally:
            t = tally.contents
            op = t.op.decode().removesuffix(LARGE)
            row = operation(op)
            sent = round(t.bytes) if row.sends and not row.flow_later else 0
            yield op, t.comm, t.calls, round(1e9 * t.seconds), sent
            tally = t.next

    @property
    def times_ns(self) -> tuple[int, int, int, int]:
        """Return nanoseconds in all, of computation, of the engine between calls, and late."""
        shared = self._shared
        times = (shared.wall, shared.computed, shared.between, shared.delayed)
        wall, computed, between, delayed = (round(1e9 * seconds) for seconds in times)
        return wall, computed, between, delayed

    @property
    def left(self) -> int:
        """Requests that no call completed."""
        return int(self._shared.left)
