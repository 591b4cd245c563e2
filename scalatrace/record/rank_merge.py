"""Merge of part files over the ranks of an MPI program: shares first, then a binary tree.

ranks    0: parts 0-3    1: parts 4-7    2: parts 8-11    3: parts 12-15
round 1  0 <- 1                          2 <- 3
round 2  0 <- 2

Shares are contiguous, so a rank merges only parts of higher ranks of the recorded program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, TypeVar

from scalatrace.core.binding import Core
from scalatrace.ranks import attempt, load_mpi, raise_first

__all__ = ["MergeRanks", "merge_parts"]

T = TypeVar("T")

SUBJECT = "the merge"


class MergeRanks:
    """The ranks of this program. A failure on one rank is a failure on all; rank 0 knows its text.

    Attributes:
        rank, size: of this process, in MPI_COMM_WORLD.
    """

    def __init__(self) -> None:
        """Start MPI. Raises UsageError without mpi4py."""
        self._comm: Any = load_mpi("parts are merged over MPI ranks").COMM_WORLD
        self.rank, self.size = int(self._comm.rank), int(self._comm.size)

    def on_first(self, work: Callable[[], T]) -> T:
        """Return the result of `work` on rank 0 to all ranks. Raises what `work` does, on all ranks."""
        result, error = None, None
        if self.rank == 0:
            result, error = attempt(work, SUBJECT)
        result, error = self._comm.bcast((result, error))
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def merge(self, parts: Sequence[Path]) -> Core | None:
        """Merge parts, lowest rank first; rank 0 gets the core, which the caller closes.

        Raises:
            ScalatraceError, OSError, MemoryError: on all ranks, that of the lowest rank that failed.
        """
        low, high = (-(-len(parts) * rank // self.size) for rank in (self.rank, self.rank + 1))
        core, error = attempt(lambda: merge_parts(parts[low:high]) if low < high else None, SUBJECT)
        raise_first(self._comm, error)
        step = 1
        while step < self.size:
            if self.rank % (2 * step) == step:
                packed, error = attempt(core.pack, SUBJECT) if core else (b"", error)
                self._comm.send((packed, error), self.rank - step)
                break
            if self.rank + step < self.size:
                packed, sender_error = self._comm.recv(source=self.rank + step)
                error = error or sender_error
                if packed and error is None:
                    core, error = attempt(lambda: _unite_cores(core, packed), SUBJECT)  # noqa: B023
            step *= 2
        raise_first(self._comm, error)
        return core if self.rank == 0 else None

    def abort(self, message: str) -> NoReturn:
        """Print the message and end all ranks."""
        print(message, file=sys.stderr, flush=True)
        self._comm.Abort(1)
        raise SystemExit(1)


def merge_parts(parts: Sequence[Path]) -> Core:
    """Merge parts one after the other; the first exists. Raises ScalatraceError."""
    merged = Core.read_part(parts[0])
    for path in parts[1:]:
        with Core.read_part(path) as core:
            merged.merge_core(core)
    return merged


def _unite_cores(core: Core | None, packed: bytes) -> Core:
    """Merge a packed core into this one, which a rank without parts takes from a file."""
    if core is not None:
        core.merge(packed)
        return core
    with TemporaryDirectory(prefix="scalatrace-") as folder, Core(0, 1) as writer:
        path = Path(folder, "received.part")
        writer.write_packed(packed, path)
        return Core.read_part(path)
