"""The engine that runs a program: C where a compiler for the MPI in use is present, else the interpreter."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.compiler.compile import compile_program
from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace
from scalatrace.codegen.conceptual.run.agreement import Agreement
from scalatrace.codegen.conceptual.run.checked import OwnFaultError, bind
from scalatrace.codegen.conceptual.run.compiled import PROGRAM
from scalatrace.compilers.elf import loaded_mpi
from scalatrace.compilers.generated import shared_library
from scalatrace.errors import ScalatraceError
from scalatrace.launched import launched_rank

__all__ = ["ENGINES", "check_once", "compiled_library"]

ENGINES = ("auto", "compiled", "python")

MAX_LINES = 10_000
"""Lines of C that `auto` compiles: 1,000 take the compiler some 0.6 s."""


def compiled_library(program: t.Program, path: str, engine: str) -> Path | None:
    """Return the library of a program, on all ranks; None: interpret it.

    Args:
        path: of the program, for messages.
        engine: one of ENGINES.

    Raises:
        ScalatraceError: `compiled` was asked for and is not possible; on all ranks.
    """
    if engine == "python":
        return None
    reason, library = "the MPI library that this process has loaded is not known", None
    if agreement := _agreement():
        library, reason = _agreed_library(program, path, engine, agreement)
    if not reason:
        return library
    if engine == "compiled":
        raise ScalatraceError(f"--engine compiled: {reason}; use --engine python")
    if not launched_rank():
        print(f"scalatrace: interpreting the program in Python: {reason}", file=sys.stderr)
    return None


def _agreement() -> Agreement | None:
    """Return the way to agree; None: the MPI is not known, which holds on all ranks."""
    return Agreement(library) if (library := loaded_mpi()) else None


def _agreed_library(
    program: t.Program, path: str, engine: str, agreement: Agreement
) -> tuple[Path | None, str]:
    """Return the library, or why there is none; the same on all ranks."""
    source, reason = _source(program, path, engine) if agreement.rank == 0 else ("", "")
    if reason := agreement.first(reason):
        return None, reason
    source = agreement.broadcast(source.encode()).decode()
    library = None
    try:
        library = shared_library(PROGRAM, source, speaks=agreement.rank == 0)
    except ScalatraceError as error:
        reason = str(error)
    return library, agreement.first(reason)


def _source(program: t.Program, path: str, engine: str) -> tuple[str, str]:
    """Return the C text of a program, or why there is none."""
    try:
        source = compile_program(program, path, hosted=True)
    except ProgramError as error:
        return "", str(error)
    if engine == "auto" and (count := source.count("\n")) > MAX_LINES:
        return "", f"it has {count:,} lines in C (limit {MAX_LINES:,}); --engine compiled compiles it"
    return source, ""


def check_once(program: t.Program, parameters: Mapping[str, int], path: str, seed: int) -> None:
    """Check what all tasks do, on rank 0; each task checks its own part where all parts are too many.

    Raises:
        ProgramError: the program cannot run so; on all ranks, unless it is an OwnFaultError.
    """
    agreement = _agreement()
    assert agreement is not None
    outcome = ["", 0, 0, True]
    if agreement.rank == 0:
        try:
            bound = bind(program, agreement.size, 0, parameters, path, seed, interpreted=False)
            outcome[3] = len(bound.events) == agreement.size
        except OwnFaultError:
            raise
        except ProgramError as error:
            outcome[:3] = error.reason, *error.place
    reason, line, column, checks_all = json.loads(agreement.broadcast(json.dumps(outcome).encode()))
    if reason:
        raise ProgramError(reason, SourcePlace(line, column), path=path)
    if not checks_all and agreement.rank:
        where = (agreement.size, agreement.rank)
        bind(program, *where, parameters, path, seed, interpreted=False, alone=True)
