"""Control the recording of the running program, as MPI_Pcontrol does in C.

`tracing` switches events on and off; `kernel` marks a computation kernel, like MPI_Pcontrol(1001, ...).
"""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Self

from scalatrace.errors import UsageError

__all__ = ["kernel", "tracing"]


def _switch(on: bool) -> bool | None:
    """Switch in the shim that is loaded into this process; the state before, None where nothing is traced."""
    function = getattr(ctypes.CDLL(None), "scalatrace_tracing", None)
    if function is None:
        return None
    before = function(ctypes.c_int(on))
    return None if before < 0 else bool(before)


class tracing:  # noqa: N801 - used like a function
    """Switch the recording of events on or off; with `with`, until the end of the block.

        scalatrace.tracing(False)          # from here on: nothing is recorded
        with scalatrace.tracing(True):     # but this is
            comm.Bcast(data)

    Requests and communicators made while it is off are still tracked, so that what follows refers to them
    rightly. Does nothing in a program that is not traced.
    """

    def __init__(self, on: bool = True) -> None:
        self.before = _switch(on)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.before is not None:
            _switch(self.before)


MAX_SIZES = 4


class kernel:  # noqa: N801 - used like a function
    """Record where a kernel begins and ends, and its sizes.

        with scalatrace.kernel("dgemm", m=m, n=n, k=k):
            numpy.dot(a, b, out=c)

    The trace has two events Pcontrol; the computation time before the second one is the kernel's. The block
    should make no MPI calls. Does nothing in a program that is not traced.

    Args:
        name: of the kernel, without parentheses.
        sizes: integers, at most 4.
    """

    def __init__(self, name: str, **sizes: int) -> None:
        if not name or set(name) & set("(),") or len(sizes) > MAX_SIZES:
            raise UsageError(
                f"kernel {name!r}: give a name without '(', ')' and ',', and at most {MAX_SIZES} sizes"
            )
        self._text = f"{name}({','.join(sizes)})".encode()
        self._sizes = (ctypes.c_int64 * len(sizes))(*sizes.values())
        self._record: Any = getattr(ctypes.CDLL(None), "scalatrace_kernel", None)

    def __enter__(self) -> Self:
        if self._record:
            self._record(self._text, self._sizes, len(self._sizes))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._record:
            self._record(None, None, 0)
