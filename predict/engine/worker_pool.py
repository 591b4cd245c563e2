"""Processes that run independent simulations: of this machine, or the ranks of an MPI program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar, cast

from scalatrace.errors import ScalatraceError
from scalatrace.ranks import load_mpi

__all__ = ["MPI_RANKS", "WorkerPool", "open_pool"]

T = TypeVar("T")
R = TypeVar("R")

MPI_RANKS = "mpi"
"""In place of a number of workers: the ranks of this program, of which the first one gives out the work."""


class WorkerPool:
    """Runs pieces of work.

    Args:
        executor: None: they run in this process.
        serves: whether this process has only run pieces of another one, which has ended.
    """

    def __init__(self, executor: Executor | None, serves: bool = False) -> None:
        self._executor, self.serves = executor, serves

    def run(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Yield each item with its result, in the order in which they end.

        Raises:
            ScalatraceError: a worker was killed.
        """
        if self._executor is None:
            for item in items:
                yield item, work(item)
            return
        futures = {self._executor.submit(work, item): item for item in items}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise ScalatraceError("a worker was killed, perhaps since memory ran out: use fewer") from None
        finally:
            for future in futures:
                future.cancel()


@contextmanager
def open_pool(workers: int | str) -> Iterator[WorkerPool]:
    """Start workers, and end them.

    Args:
        workers: how many processes, or MPI_RANKS: ranks of this program, which all call this.

    Raises:
        UsageError: mpi4py cannot be used.
    """
    if workers == MPI_RANKS:
        world = load_mpi("--workers mpi shares the simulations").COMM_WORLD
        from mpi4py.futures import MPICommExecutor

        with MPICommExecutor(world, root=0) as executor:
            yield WorkerPool(cast("Executor | None", executor), serves=executor is None)
    elif workers == 1:
        yield WorkerPool(None)
    else:
        with ProcessPoolExecutor(int(workers), get_context("spawn")) as pool:
            yield WorkerPool(pool)
