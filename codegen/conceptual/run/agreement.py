"""Agreement of all ranks past any tracer: these messages are not the program's."""

from __future__ import annotations

import ctypes
from pathlib import Path

from mpi4py import MPI

__all__ = ["Agreement"]

_HANDLES = {4: ctypes.c_int, 8: ctypes.c_void_p}
"""C types of handles by their size."""


class Agreement:
    """Broadcasts and a reduction on MPI_COMM_WORLD by the names of the profiling interface."""

    def __init__(self, library: Path) -> None:
        """`library`: the libmpi of this process."""
        self.rank, self.size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
        self._code = ctypes.CDLL(str(library))
        handle = _HANDLES[MPI._sizeof(MPI.COMM_WORLD)]
        self._world = handle(MPI._handleof(MPI.COMM_WORLD))
        self._byte, self._int = handle(MPI._handleof(MPI.BYTE)), handle(MPI._handleof(MPI.INT))
        self._min = handle(MPI._handleof(MPI.MIN))

    def broadcast(self, data: bytes, root: int = 0) -> bytes:
        """Return on all ranks the data of a rank."""
        length = ctypes.c_int(len(data))
        self._code.PMPI_Bcast(ctypes.byref(length), 1, self._int, root, self._world)
        room = ctypes.create_string_buffer(data, max(1, length.value)) if self.rank == root else None
        room = room or ctypes.create_string_buffer(max(1, length.value))
        self._code.PMPI_Bcast(room, length, self._byte, root, self._world)
        return room.raw[: length.value]

    def first(self, reason: str) -> str:
        """Return on all ranks the reason of the first rank that has one; "" when none has."""
        mine, first = ctypes.c_int(self.rank if reason else self.size), ctypes.c_int()
        self._code.PMPI_Allreduce(
            ctypes.byref(mine), ctypes.byref(first), 1, self._int, self._min, self._world
        )
        return "" if first.value == self.size else self.broadcast(reason.encode(), first.value).decode()
