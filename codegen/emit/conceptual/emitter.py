"""The coNCePTuaL emitter: build the tree of a program, print it, and check that the language accepts it."""

from __future__ import annotations

import re
from contextlib import suppress

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.conceptual.printer.program import show
from scalatrace.codegen.emit.conceptual.calls.program import StatementEmitter
from scalatrace.codegen.emit.conceptual.common.operations import (
    COMPLETIONS,
    EXCHANGES,
    INITS,
    PROBES,
    RECEIVES,
    SENDS,
    SILENT,
)
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, blocking_form
from scalatrace.codegen.emit.conceptual.common.sharing import share_expressions
from scalatrace.codegen.emit.conceptual.common.simplify import simplify
from scalatrace.codegen.emit.conceptual.sets.grid import GridTasks
from scalatrace.codegen.emit.conceptual.sets.recorded import RecordedTasks
from scalatrace.codegen.emit.conceptual.sets.task_sets import TaskSets
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.errors import make_rejection
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.tree import BenchmarkProgram
from scalatrace.operations import operation

__all__ = ["ConceptualEmitter", "shorter_tree"]

PROCESS_CREATION = frozenset({"Abort", "Comm_spawn", "Comm_spawn_multiple", "Comm_connect", "Comm_accept"})
"""Operations of the categories in SILENT that start or end processes."""

KNOWN = SENDS | RECEIVES | EXCHANGES | INITS | PROBES | COMPLETIONS | {"Start", "Startall", "Pcontrol"}

KEYWORDS = """
    all tasks task such that divides mod xor is not in if otherwise then for each repetitions compute computes
    microseconds asynchronously send sends receive receives a byte message using tag to unsuspecting from
    await awaits completion multicast multicasts other reduce reduces integer integers synchronize
    left out random_uniform
"""


class ConceptualEmitter:
    """coNCePTuaL 1.5."""

    name, suffix = "conceptual", ".ncptl"
    exact_times = False
    matched = True

    def supports(self, op: str) -> bool:
        """Whether an operation can be expressed."""
        if op in KNOWN or blocking_form(op).removesuffix(SUFFIX) in PATTERNS:
            return True
        row = operation(op)
        return row.category in SILENT and not row.nonblocking and op not in PROCESS_CREATION

    def vocabulary(self) -> set[str]:
        """Return the words of the language that programs use."""
        return _words(KEYWORDS) | _words(self.emit(BenchmarkProgram(2, ()), EmitOptions()))

    def emit(self, program: BenchmarkProgram, options: EmitOptions) -> str:
        """Return the text. Raises GenerateError also for a text that the language's parser rejects."""
        sets: TaskSets = GridTasks(program) if program.shape else RecordedTasks(program)
        text = show(shorter_tree(StatementEmitter(sets, options.drawn).tree()))
        try:
            parse(text)
        except ProgramError as error:
            raise make_rejection(text, "coNCePTuaL", error.reason, error.place.line) from None
        return text


def shorter_tree(program: t.ProgramTree) -> t.ProgramTree:
    """Return a program that does the same, without unreachable cases and with repeated expressions bound."""
    with suppress(RecursionError):  # a sum of hundreds of terms stays as it is
        return share_expressions(simplify(program))
    return program


def _words(text: str) -> set[str]:
    """Return the words of a text."""
    return set(re.sub(r"[{}.,]", " ", text).split())
