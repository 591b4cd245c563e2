"""Steps that the ranks of an MPI program take together: an error of one rank is an error of all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from scalatrace.errors import ScalatraceError, UsageError

__all__ = ["attempt", "load_mpi", "on_all", "raise_first", "wait_asleep"]

T = TypeVar("T")

POLL_S = 5e-4
"""Time between two looks whether all ranks have come."""


class RankError(ScalatraceError):
    """An error of another rank: its text and exit status."""

    def __init__(self, text: str, exit_status: int) -> None:
        super().__init__(text)
        self.exit_status = exit_status

    def __reduce__(self) -> tuple[type[RankError], tuple[str, int]]:
        return RankError, (str(self), self.exit_status)


def load_mpi(purpose: str) -> Any:
    """Return mpi4py's module MPI, and start MPI. Raises UsageError without mpi4py.

    Args:
        purpose: what is done by it, for messages: "parts are merged over MPI ranks".
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UsageError(f"{purpose} by mpi4py, which cannot be used: {error}") from None
    return MPI


def attempt(work: Callable[[], T], subject: str) -> tuple[T | None, Exception | None]:
    """Return the result, or the error as one that every rank can unpickle.

    Args:
        subject: what fails where an error of the system names no file.
    """
    try:
        return work(), None
    except MemoryError as error:
        return None, MemoryError(*map(str, error.args))
    except ScalatraceError as error:
        return None, RankError(str(error), error.exit_status)
    except OSError as error:
        return None, RankError(f"{error.filename or subject}: {error.strerror}", 1)


def raise_first(comm: Any, error: Exception | None) -> None:
    """Raise the error of the lowest rank of a communicator that has one, on all of them."""
    for rank_error in comm.allgather(error):
        if rank_error is not None:
            raise rank_error


def on_all(comm: Any, step: Callable[[], T], subject: str) -> T:
    """Carry out a step on all ranks. Raises the error of the lowest rank that has one, on all of them.

    Args:
        subject: as for `attempt`.
    """
    result, error = attempt(step, subject)
    raise_first(comm, error)
    return result  # type: ignore[return-value]


def wait_asleep(comm: Any) -> None:
    """Wait for all ranks of a communicator. Sleep meanwhile: those that still work have their cores."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(POLL_S)
