"""A compiled program in this process: its C interface (compiler/runtime/hosted.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from scalatrace.codegen.conceptual.errors import SourcePlace
from scalatrace.compilers.generated import Kind, ended_by_interrupt, load

__all__ = ["BACKEND", "PROGRAM", "TIMER", "CompiledProgram"]

BACKEND = "C + MPI"
TIMER = "clock_gettime()"
PROGRAM = Kind(
    "ncptl",
    "the compiled program",
    "this program",
    "compiling the program (kept for the next run)",
    optimisation="-O1",  # -O2 takes twice as long and sends messages no faster
)

_Stop = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_char_p)


class _Host(ctypes.Structure):
    _fields_ = [
        ("stop", _Stop),
        ("seed", ctypes.c_uint64),
        ("nfacts", ctypes.c_size_t),
        ("keys", ctypes.POINTER(ctypes.c_char_p)),
        ("facts", ctypes.POINTER(ctypes.c_char_p)),
        ("parameters", ctypes.POINTER(ctypes.c_int64)),
    ]


class CompiledProgram:
    """One task of a program in C."""

    def __init__(
        self,
        path: Path,
        seed: int,
        parameters: Sequence[int],
        prologue: Mapping[str, str],
        stop: Callable[[str, SourcePlace], None],
    ) -> None:
        """Load a library.

        Args:
            seed: of random numbers; its lowest 64 bits count.
            parameters: values, in the order of the program's headers.
            prologue: lines of the log file by key.
            stop: called with what is wrong and where; it ends all ranks.

        Raises:
            ScalatraceError: it cannot be loaded, or belongs to another MPI.
        """
        self._code = load(PROGRAM, path)
        self._code.scalatrace_play.argtypes = [ctypes.c_char_p]

        def stopped(line: int, column: int, text: bytes) -> None:
            stop(text.decode(errors="replace"), SourcePlace(line, column))

        self._stop = _Stop(stopped)  # kept, with the arrays: the library has their addresses only
        self._host = _Host(
            stop=self._stop,
            seed=seed & (2**64 - 1),
            nfacts=len(prologue),
            keys=_texts(prologue.keys()),
            facts=_texts(prologue.values()),
            parameters=(ctypes.c_int64 * max(1, len(parameters)))(*parameters),
        )

    def prepare(self) -> bool:
        """Collect what this task does; whether it logs."""
        return bool(self._code.scalatrace_prepare(ctypes.byref(self._host)))

    def play(self, log: str | None) -> None:
        """Make all calls; tables go to the end of the file `log`."""
        with ended_by_interrupt():
            self._code.scalatrace_play(None if log is None else log.encode(errors="surrogateescape"))


def _texts(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [text.encode(errors="surrogateescape") for text in texts]
    return (ctypes.c_char_p * max(1, len(encoded)))(*encoded)
