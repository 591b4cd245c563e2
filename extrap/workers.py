"""Run independent pieces of one computation in parallel: in processes of this machine, or in MPI ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from scalatrace.errors import ScalatraceError, UsageError

__all__ = ["MpiRanks", "available", "each"]

T = TypeVar("T")
R = TypeVar("R")

MAX_WORKERS = 8
"""Each worker holds what it changes of its parent's memory, and more would have little left to do."""


class MpiRanks(int):
    """As many workers as an MPI program has ranks, all of which make the same calls with the same data."""

    comm: Any

    @classmethod
    def all(cls) -> MpiRanks:
        """The ranks of this program. Raises UsageError without mpi4py."""
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise UsageError(
                f"work is shared over MPI ranks by mpi4py, which cannot be used: {error}"
            ) from None
        result = cls(MPI.COMM_WORLD.size)
        result.comm = MPI.COMM_WORLD
        return result

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that reports the result."""
        return bool(self.comm.rank == 0)

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """`work` on each item, shared over the ranks; all get all results. Raises as `each`."""
        mine = range(self.comm.rank, len(items), self)
        try:
            found, failed = [work(items[at]) for at in mine], False
        except ScalatraceError:
            found, failed = [], True
        shares = self.comm.allgather((failed, found))
        if any(failed for failed, _ in shares):
            return [work(item) for item in items]  # to have the same error on all ranks
        return [shares[at % self][1][at // self] for at in range(len(items))]


def available() -> int:
    """How many workers this process has cores for."""
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS)


def each(work: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """`work` on each item, in their order; workers are forks, so only results are sent.

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
    share = -(-len(items) // workers)
    with ProcessPoolExecutor(workers, get_context("fork"), _inherit, (work, items)) as pool:
        try:
            return list(pool.map(_done, range(len(items)), chunksize=share))
        except (BrokenProcessPool, ScalatraceError):  # killed for its memory; or to have the same error
            return [work(item) for item in items]


_inherited: tuple[Callable[[Any], Any], Sequence[Any]]


def _inherit(work: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _inherited
    _inherited = work, items


def _done(at: int) -> Any:
    work, items = _inherited
    return work(items[at])
