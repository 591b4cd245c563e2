"""Compiled programs: no warnings, and the same MPI calls as the interpreter's events."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from codegen.ncptl.check import check
from codegen.ncptl.compile import compile_program
from support.ncptl_programs import PROGRAMS, calls, lowered
from support.running import Finished, run

STUB = Path(__file__).parent / "stub"
QUICK = ("ring", "who-receives", "reduce-elsewhere", "log", "random-tasks", "conditions", "comprehension")
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
    program, wanted = compiled(source, folder), lowered(source, tasks)
    for rank in range(tasks):
        shown = made(execute(program, rank, tasks).check().stdout, wanted.comms, tasks)
        timed = 1
        if "MPI_LONG_LONG" in "".join(shown):
            shown, timed = [*dict.fromkeys(shown)], 1
            assert shown == [*dict.fromkeys(calls(wanted, rank, timed))]
        else:
            assert shown == calls(wanted, rank, timed)


@pytest.mark.parametrize("name", QUICK)
def test_the_calls_are_the_interpreters(name: str, tmp_path: Path) -> None:
    same_calls(PROGRAMS[name], tmp_path, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in QUICK])
def test_the_calls_are_the_interpreters_everywhere(name: str, tmp_path: Path) -> None:
    same_calls(PROGRAMS[name], tmp_path, 4)
