"""Compiled coNCePTuaL programs without MPI: a stub of mpi.h prints each call as the rank it is told to be."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.compiler.compile import compile_program
from support.ncptl_programs import calls, lowered
from support.running import Finished, run

STUB = Path(__file__).parents[1] / "codegen" / "ncptl" / "stub"
COMPILER = shutil.which("cc") or shutil.which("gcc")


def compiled(source: str, folder: Path) -> Path:
    """A program compiled without MPI; the stub prints its calls."""
    if COMPILER is None:
        pytest.skip("no C compiler")
    (folder / "a.c").write_text(compile_program(check(source), "a.ncptl"))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{STUB}"]
    run([COMPILER, *flags, "a.c", "-o", "a", "-lm"], cwd=folder).check()
    return folder / "a"


def execute(program: Path, rank: int, tasks: int, *options: str) -> Finished:
    """Run a compiled program as one rank."""
    env = {**os.environ, "STUB_RANK": str(rank), "STUB_TASKS": str(tasks)}
    return run([program, *options], env=env, cwd=program.parent)


def made(shown: str, comms: list[tuple[int, ...]], tasks: int) -> list[str]:
    """The calls that the stub printed, communicators by their ranks."""
    known = [tuple(range(tasks)), *comms]

    def ranks(number: re.Match[str]) -> str:
        return f"comm={{{','.join(map(str, known[int(number[1])]))}}}"

    lines = [line[1:] for line in shown.splitlines() if line.startswith("@")]
    return [re.sub(r"comm#(\d+)", ranks, line) for line in lines]


def same_calls(source: str, folder: Path, tasks: int) -> None:
    """Compiled, a program makes the calls of the interpreter's events on every rank."""
    program, wanted = compiled(source, folder), lowered(source, tasks)
    for rank in range(tasks):
        shown = made(execute(program, rank, tasks).check().stdout, wanted.comms, tasks)
        if "MPI_LONG_LONG" in "".join(shown):  # a loop for a time: who knows how often
            assert [*dict.fromkeys(shown)] == [*dict.fromkeys(calls(wanted, rank))]
        else:
            assert shown == calls(wanted, rank)
