"""Switch the recording of events on and off in the running program, like MPI_Pcontrol."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Self

__all__ = ["tracing"]


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
