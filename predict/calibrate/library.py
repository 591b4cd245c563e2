"""The timed calls of `measures.c`, compiled for the MPI of this process."""

from __future__ import annotations

import ctypes
from typing import Any

from mpi4py import MPI

from scalatrace.compilers.generated import GeneratedKind
from scalatrace.compilers.timed import TIMED_COLLECTIVES, reserve_buffers, timed_library
from scalatrace.errors import ScalatraceError

__all__ = ["Measures"]

_LIBRARY = GeneratedKind(
    "calibrate", "the calibration", "this calibration",
    "compiling the measurements (kept for the next calibration)",
)  # fmt: skip
_TYPES: dict[type, Any] = {int: ctypes.c_int, float: ctypes.c_double}


class Measures:
    """Functions that time MPI calls between two ranks of a communicator.

    C, since the interpreter adds up to a microsecond to each call, as much as a short message takes.
    """

    def __init__(self, comm: MPI.Comm, max_bytes: int) -> None:
        """Compile and load.

        Args:
            max_bytes: memory of each of the two buffers.

        Raises:
            ScalatraceError: there is no compiler for this MPI, or not enough memory.
        """
        self._code = timed_library(_LIBRARY, "scalatrace.predict.calibrate", "measures.c", comm.rank == 0)
        reserve_buffers(self._code, max_bytes, comm.size, "; use a smaller --max-bytes")
        self._handle = comm.py2f()

    def between(self, name: str, leads: bool, peer: int, *arguments: float, count: int = 1) -> list[float]:
        """Call a function of two ranks; both must. Returns `count` values, on the leader."""
        return self._call(name, self._handle, int(leads), peer, *arguments, count=count)

    def local(self, name: str, *arguments: float, count: int) -> list[float]:
        """Call a function of this rank alone. Returns `count` durations."""
        return self._call(name, *arguments, count=count)

    def collective(self, name: str, nbytes: int, repeats: int) -> list[float]:
        """Call a collective operation with equal blocks on all ranks. Returns durations, on rank 0."""
        number = TIMED_COLLECTIVES.index("reduce_scatter_block" if name == "reduce_scatter" else name)
        return self._call("collective", self._handle, number, nbytes, repeats, count=repeats)

    def pairs(self, peer: int, nbytes: int, repeats: int) -> list[float]:
        """Exchange messages with a peer beside the other ranks; all call this, those without one with -1.

        Returns durations, on rank 0: those of a message at the mean bandwidth.
        """
        return self._call("pairs", self._handle, peer, nbytes, repeats, count=repeats)

    def _call(self, name: str, *arguments: float, count: int) -> list[float]:
        values = (ctypes.c_double * count)()
        converted = [_TYPES[type(argument)](argument) for argument in arguments]
        code = getattr(self._code, f"st_{name}")(*converted, values)
        if code:
            raise ScalatraceError(f"{name}: {MPI.Get_error_string(code)}")
        return list(values)
