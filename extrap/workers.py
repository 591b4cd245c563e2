"""Run independent pieces of one computation in parallel processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from scalatrace.errors import ScalatraceError

__all__ = ["available", "each"]

T = TypeVar("T")
R = TypeVar("R")

MAX_WORKERS = 8
"""Each worker holds what it changes of its parent's memory, and more would have little left to do."""


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
