"""The functions of `timing.c`, compiled for the MPI of this process: timed collectives, control variables."""

from __future__ import annotations

import ctypes

import numpy as np
from mpi4py import MPI

from scalatrace.arrays import Floats
from scalatrace.compilers.generated import GeneratedKind
from scalatrace.compilers.timed import TIMED_COLLECTIVES, reserve_buffers, timed_library
from scalatrace.errors import ScalatraceError
from scalatrace.replay.tune.points import CollectivePoint

__all__ = ["ControlVariables", "TimedCollectives"]

_LIBRARY = GeneratedKind(
    "tune", "the timed collectives", "this measurement",
    "compiling the timed collectives (kept for the next measurement)",
)  # fmt: skip

TEXT_BYTES = 1 << 14
"""Room for the description of a variable."""


def _code(speaks: bool) -> ctypes.CDLL:
    return timed_library(_LIBRARY, "scalatrace.replay.tune", "timing.c", speaks)


class ControlVariables:
    """Control variables of the MPI library by name (MPI-4.1 §15.3); those that are set are integers."""

    def __init__(self, speaks: bool) -> None:
        """Compile what is needed and start MPI_T.

        Args:
            speaks: print a notice when compiling takes long.

        Raises:
            ScalatraceError: there is no compiler for this MPI, or it has no MPI_T.
        """
        self._code = _code(speaks)
        self._kinds: dict[str, tuple[int, bool] | None] = {}
        if self._code.st_start_tools():
            raise ScalatraceError("this MPI does not start its tools interface (MPI_T_init_thread)")

    def __contains__(self, name: object) -> bool:
        return self._kind(str(name)) is not None

    def __getitem__(self, name: str) -> int:
        value = ctypes.c_int()
        self._check(name, self._code.st_read(self._number(name), ctypes.byref(value)))
        return value.value

    def __setitem__(self, name: str, value: int) -> None:
        self._check(name, self._code.st_write(self._number(name), ctypes.c_int(value)))

    def text(self, name: str) -> str:
        """Return the value of a variable, a number or a text."""
        number, integer = self._kind(name) or (0, True)
        if integer:
            return str(self[name])
        text = ctypes.create_string_buffer(TEXT_BYTES)
        self._check(name, self._code.st_read_text(number, text, TEXT_BYTES))
        return text.value.decode(errors="replace")

    def description(self, name: str) -> str:
        """Return the library's text about a variable."""
        text = ctypes.create_string_buffer(TEXT_BYTES)
        self._check(name, self._code.st_describe(self._number(name), text, TEXT_BYTES))
        return text.value.decode(errors="replace")

    def items(self, name: str) -> dict[str, int]:
        """Return the names and values of a variable's enumeration; {} if it has none."""
        result: dict[str, int] = {}
        text, value = ctypes.create_string_buffer(TEXT_BYTES), ctypes.c_int()
        number = self._number(name)
        while not self._code.st_item(number, len(result), ctypes.byref(value), text, TEXT_BYTES):
            result[text.value.decode(errors="replace")] = value.value
        return result

    def _kind(self, name: str) -> tuple[int, bool] | None:
        """Return the number of a variable, and whether it is an integer; None if there is none."""
        if name not in self._kinds:
            number, integer = ctypes.c_int(), ctypes.c_int()
            failed = self._code.st_find(name.encode(), ctypes.byref(number), ctypes.byref(integer))
            self._kinds[name] = None if failed else (number.value, bool(integer.value))
        return self._kinds[name]

    def _number(self, name: str) -> int:
        kind = self._kind(name)
        if kind is None:
            raise ScalatraceError(f"this MPI has no control variable {name}")
        return kind[0]

    def _check(self, name: str, code: int) -> None:
        if code:
            raise ScalatraceError(f"control variable {name}: error {code} of the tools interface (MPI_T)")


class TimedCollectives:
    """Calls collectives and takes their times, on the ranks of a communicator."""

    def __init__(self, points: list[CollectivePoint], nranks: int, speaks: bool = False) -> None:
        """Compile, and allocate buffers for all points.

        Raises:
            ScalatraceError: there is no compiler for this MPI, or not enough memory.
        """
        self._code = _code(speaks)
        self._code.st_time.argtypes = [
            ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int,
            ctypes.c_double, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
        ]  # fmt: skip
        most = max((point.total_bytes for point in points), default=0)
        reserve_buffers(self._code, most, nranks)

    def time(
        self,
        comm: MPI.Comm,
        meeting: MPI.Comm,
        point: CollectivePoint,
        offset_ns: float,
        repeats: int,
        checks: bool,
    ) -> tuple[int, Floats, int]:
        """Call a point's collective, after two calls that are not timed; all ranks of `comm` do.

        Args:
            meeting: communicator of the same ranks, of which only messages are used.
            offset_ns: how much later this rank comes than the first.
            checks: compute a hash of the result.

        Returns:
            MPI's error code, ns from the meeting of the ranks to the end of each call, the hash.
        """
        ns, digest = np.zeros(repeats), ctypes.c_uint64()
        code = self._code.st_time(
            comm.py2f(), meeting.py2f(), TIMED_COLLECTIVES.index(point.op), point.block, point.total_bytes,
            point.element, point.root, offset_ns, repeats, ns.ctypes.data,
            ctypes.addressof(digest) if checks else None,
        )  # fmt: skip
        return code, ns, digest.value
