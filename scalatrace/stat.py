"""The base class of stat plug-ins in Python (dissertation §5.2.5)."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["Stat"]


class Stat:
    """Measures something at the MPI calls of a traced program.

        class Objects(scalatrace.Stat):
            name = "objects"

            def start(self) -> None:
                self.before = sys.getallocatedblocks()

            def end(self) -> float:
                return sys.getallocatedblocks() - self.before

        mpiexec -n 4 scalatrace record --stat objects.py:Objects -- python app.py

    What `end` returns is one sample of the call's event, kept and merged as times are. The class is loaded in
    the traced program, in MPI_Init; each thread that calls MPI has an instance of its own. An exception ends
    the measuring and is reported; the program continues. MPI calls made here are not recorded; make none that
    communicate.

    Attributes:
        name: of the stat in the trace, unit last ("memory_bytes"); inside the call ".call" is appended.
        resolution: samples are kept as multiples of it; 1 for counts and nanoseconds.
        level: samples are levels (memory in use), not amounts that may be added up (bytes allocated).
        operation: set before each `start` and `end`: the call at hand ("Send"); for the `start` of a
            computation the call that has just returned, or "".
        inside: set likewise: the window is inside the call (`--stat NAME:call`), not the computation before.
    """

    name: ClassVar[str] = ""
    resolution: ClassVar[float] = 1.0
    level: ClassVar[bool] = False
    operation: str = ""
    inside: bool = False

    def start(self) -> None:
        """Begin a window. Again without `end`: the window before was given up."""

    def end(self) -> float:
        """Return the sample of the window that ends; NaN for none."""
        raise NotImplementedError(f"{type(self).__name__} has no end()")
