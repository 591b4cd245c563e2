"""The replay of one rank by a compiled program, with the result that `run` has."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scalatrace.compilers.generated import ended_by_interrupt
from scalatrace.replay.common.options import Compute, Options
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.compiled.library import ALL_FIT, UNPLANNED, Library
from scalatrace.replay.engine.player import Report
from scalatrace.replay.engine.senders import Senders, senders_of
from scalatrace.replay.probabilistic.largest import buffered, largest_sent
from scalatrace.replay.result import RankResult
from scalatrace.replay.run import Watch
from scalatrace.replay.start import begins_with_start
from scalatrace.replay.transport.buffers import attached_nbytes

if TYPE_CHECKING:
    from pathlib import Path

    from scalatrace import Trace
    from scalatrace.replay.transport.mpi import MPITransport

REPORT_S = 1.0
"""Seconds between two reports of progress."""

__all__ = ["load_library", "run_compiled"]


def load_library(path: Path, trace: Trace, transport: MPITransport, options: Options) -> Library:
    """Load a compiled replay for this rank. Raises ScalatraceError."""

    def stop(message: str) -> None:
        transport.abort(f"scalatrace: rank {transport.rank}, {message}")

    first = 1 if begins_with_start(trace) else 0
    largest = largest_sent(trace, transport.rank, WhatIf(options.rules), buffered)
    sleeps = options.compute is Compute.SLEEP
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
    options: Options,
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
    with watch(library.position), _reported(library, report), ended_by_interrupt():
        transport.gather(b"")  # start together, also with a rank that took long to prepare
        library.play()
    return RankResult(transport.rank, *library.times_ns, _summed(library), library.left)


@contextmanager
def _reported(library: Library, report: Report | None) -> Iterator[None]:
    """Report regularly how many events are done, from a thread."""
    ended = threading.Event()

    def tell() -> None:
        while report and not ended.wait(REPORT_S):
            report(library.position().event)

    if report:
        threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _summed(library: Library) -> list[tuple[str, int, int, int, int]]:
    """The rows, both forms of an operation together."""
    sums: dict[tuple[str, int], list[int]] = {}
    for op, family, *amounts in library.rows():
        known = sums.setdefault((op, family), [0, 0, 0])
        known[:] = (a + b for a, b in zip(known, amounts, strict=True))
    return [(op, family, calls, ns, sent) for (op, family), (calls, ns, sent) in sums.items()]
