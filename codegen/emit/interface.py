"""What an emitter is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scalatrace.codegen.program.tree import BenchmarkProgram

__all__ = ["EmitOptions", "Emitter"]


@dataclass(frozen=True)
class EmitOptions:
    """How the text is to be.

    Attributes:
        drawn: computations are drawn from the histograms; else they take the mean.
        io_folder: for files of MPI-IO.
        hosted: C: a shared library that a replay runs, in place of a program.
    """

    drawn: bool = False
    io_folder: str = "bench-io"
    hosted: bool = False


class Emitter(Protocol):
    """Makes the text of a program in one language.

    Attributes:
        name: what `--to` calls it.
        suffix: of files in the language.
        exact_times: whether the language can look at the call before (see `codegen.builders.recorded`).
        threads: whether it takes programs whose ranks have several threads.
        matched: whether collectives must be one statement for all ranks, and receives name senders.
    """

    name: str
    suffix: str
    exact_times: bool
    matched: bool
    threads: bool

    def supports(self, op: str) -> bool:
        """Whether an operation can be expressed."""
        ...

    def emit(self, program: BenchmarkProgram, options: EmitOptions) -> str:
        """The text. Raises GenerateError for what cannot be expressed."""
        ...

    def vocabulary(self) -> set[str]:
        """All words that are the language's or the emitter's own, and no trace's."""
        ...
