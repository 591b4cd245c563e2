"""Run independent pieces of one computation in parallel: in processes of this machine, or in MPI ranks."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from enum import Enum
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import monotonic, sleep
from typing import Any, TypeVar

from scalatrace.errors import ScalatraceError
from scalatrace.ranks import load_mpi

__all__ = ["SHARES", "MpiRanks", "WorkerError", "available", "concurrently", "each"]

T = TypeVar("T")
R = TypeVar("R")

MAX_WORKERS = 8
"""Each worker holds what it changes of its parent's memory, and more would have little left to do."""


class WorkerError(ScalatraceError):
    """Error: one of several ranks could not do its part of the work."""


SHARES = 4
"""Each worker gets its items in so many parts, so that all end at about the same time."""

LEAVE_S, POLL_S = 10.0, 0.05
"""How long a rank that failed waits for the others to fail too, and how often it looks."""


FORWARD_S = 0.5
"""mpiexec gets so long to forward a message before the program ends."""

PR_SET_PDEATHSIG = 1
"""Of <linux/prctl.h>."""


class MpiRanks(int):
    """The ranks of an MPI program as workers; all ranks make the same calls with the same data.

    Attributes:
        comm: for the work.
        leaving: for the end.
    """

    comm: Any
    leaving: Any

    @classmethod
    def all(cls) -> MpiRanks:
        """Return the ranks of this program. Raises UsageError without mpi4py."""
        world = load_mpi("work is shared over MPI ranks").COMM_WORLD
        result = cls(world.size)
        result.comm, result.leaving = world, world.Dup()
        return result

    @property
    def is_first(self) -> bool:
        """Return whether this rank reports the result."""
        return bool(self.comm.rank == 0)

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Run `work` on each item, shared over the ranks; all get all results. Raises as `each`."""
        results: list[R] = []
        failed, text = len(items), ""
        for at in range(self.comm.rank, len(items), self):
            try:
                results.append(work(items[at]))
            except Exception as error:
                failed, text = at, f"{type(error).__name__}: {error}"
                break
        shares = self.comm.allgather((failed, text, results))
        first, text, _ = min(shares, key=lambda share: share[0])
        if first < len(items):
            work(items[first])  # to have the same error on all ranks
            raise WorkerError(f"rank {first % self} failed, and no other would: {text}")
        return [shares[at % self][2][at // self] for at in range(len(items))]

    def leave(self, error: BaseException) -> None:
        """End the program with an error, unless all ranks have one: then they end by themselves."""
        request, end = self.leaving.Ibarrier(), monotonic() + LEAVE_S
        while not request.Test():
            if monotonic() > end:
                print(f"scalatrace: rank {self.comm.rank}: {type(error).__name__}: {error}", file=sys.stderr)
                sys.stderr.flush()
                sleep(FORWARD_S)
                self.comm.Abort(1)
            sleep(POLL_S)


def available() -> int:
    """Return the number of workers that this process has cores for."""
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS)


def each(work: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """Run `work` on each item, in order; workers are forks, so only results are sent.

    Each worker has items that stand together: neighbours are alike, and what one found serves the next. The
    caller answers for forking: it has no MPI, and no threads that hold locks.

    Raises:
        what `work` raises for the first item for which it does.
    """
    if isinstance(workers, MpiRanks):
        return workers.map(work, items)
    workers = min(workers, len(items))
    if workers < 2:
        return [work(item) for item in items]
    share = -(-len(items) // (SHARES * workers))
    with ProcessPoolExecutor(workers, get_context("fork"), _inherit, (work, items)) as pool:
        try:
            results = list(pool.map(_done, range(len(items)), chunksize=share))
        except BrokenProcessPool:  # killed for its memory
            return [work(item) for item in items]
    failed = next((at for at, result in enumerate(results) if result is _Missing.FAILED), None)
    if failed is None:
        return results
    work(items[failed])  # to have the same error
    return [work(item) for item in items]


def concurrently(first: Callable[[int], T], second: Callable[[], R], workers: int) -> tuple[T, R]:
    """Return the results of two functions; with several workers, `first` runs in its own process.

    Args:
        first: gets the number of workers that it has.

    Raises:
        what `first` raises, or else what `second` does.
    """
    if workers < 2 or isinstance(workers, MpiRanks):
        return first(workers), second()
    error, results = None, list[R]()
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, first))  # no threads: `second` may fork
    process.start()
    sender.close()
    try:
        try:
            results.append(second())
        except ScalatraceError as raised:
            error = raised
        try:
            result: Any = receiver.recv()
        except EOFError:  # killed, or it has an error
            result = first(workers)  # to have the same error
    finally:
        process.kill()
        process.join()
        receiver.close()
    if error is not None:
        raise error
    return result, *results


def _end_with_parent() -> None:
    """Let Linux end this process when its parent is killed, which then cannot end it itself."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def _send_result(sender: Connection, work: Callable[[int], Any]) -> None:
    """Send what `work` returns with one worker; nothing where it has an error."""
    _end_with_parent()
    with sender, suppress(ScalatraceError):
        sender.send(work(1))


class _Missing(Enum):
    """Placeholder of a worker's missing result."""

    FAILED = 1
    LEFT_OUT = 2


_inherited: tuple[Callable[[Any], Any], Sequence[Any]]
_has_failed = False


def _inherit(work: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _inherited
    _inherited = work, items
    _end_with_parent()


def _done(at: int) -> Any:
    """Return the result of an item; after an error this worker leaves out all others, which come later."""
    global _has_failed
    work, items = _inherited
    if _has_failed:
        return _Missing.LEFT_OUT
    try:
        return work(items[at])
    except ScalatraceError:
        _has_failed = True
        return _Missing.FAILED
