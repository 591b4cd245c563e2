"""Template of an emitter: write generated programs in another language. Here: one line per statement.

A package registers it as an entry point, then `scalatrace generate app.st --to outline` uses it:

    [project.entry-points."scalatrace.codegen.emitters"]
    outline = "emitter_template:OutlineEmitter"
"""

from __future__ import annotations

from collections.abc import Iterator

from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    LoopStatement,
    MpiCall,
    Stmt,
)


class OutlineEmitter:
    """Structure of a program: loops, conditions, computations and calls, without expressions."""

    # What `--to` calls it, and the ending of its files.
    name = "outline"
    suffix = ".txt"
    # True: the language can branch on the previous call, so that each computation has exact means.
    exact_times = False
    # True: collectives must be one statement for all ranks, and receives must name their sender.
    matched = False
    # True: the language has threads; else traces whose ranks have several are refused.
    threads = False

    def supports(self, op: str) -> bool:
        """Return whether the language has an operation; `generate` refuses a trace with others."""
        return True

    def emit(self, program: BenchmarkProgram, options: EmitOptions) -> str:
        """Return the text. Raise GenerateError for a statement that the language cannot express."""
        lines = [f"{program.nprocs} ranks", *_outline(program.body, 1)]
        return "\n".join(lines) + "\n"

    def vocabulary(self) -> set[str]:
        """Return all words of the language, for `--obfuscate`: no other word may be a name of the trace."""
        return {"ranks", "loop", "if", "else", "compute"}


def _outline(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for stmt in body:
        match stmt:
            case LoopStatement(variable, _, inner):
                yield f"{indent}loop {variable.name}"
                yield from _outline(inner, depth + 1)
            case Branch(_, then, otherwise):
                yield f"{indent}if"
                yield from _outline(then, depth + 1)
                if otherwise:
                    yield f"{indent}else"
                    yield from _outline(otherwise, depth + 1)
            case ComputeStatement():
                yield f"{indent}compute"
            case MpiCall():
                yield f"{indent}{stmt.op} {' '.join(argument.name for argument in stmt.arguments)}"
