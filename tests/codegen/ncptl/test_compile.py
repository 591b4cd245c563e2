"""Compiled programs: no warnings, and the same MPI calls as the interpreter's events."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.compiler.compile import compile_program
from scalatrace.codegen.conceptual.errors import ProgramError
from support.ncptl_programs import PROGRAMS
from support.ncptl_stub import compiled, execute, same_calls

QUICK = ("ring", "who-receives", "reduce-elsewhere", "log", "random-tasks", "conditions", "computed-terms")


@pytest.mark.parametrize("name", QUICK)
def test_the_calls_are_the_interpreters(name: str, tmp_path: Path) -> None:
    same_calls(PROGRAMS[name], tmp_path, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in QUICK])
def test_the_calls_are_the_interpreters_everywhere(name: str, tmp_path: Path) -> None:
    same_calls(PROGRAMS[name], tmp_path, 4)


LONG_LOOP = """
    FOR EACH i IN {300,298,...,-300} {
      FOR 2 REPETITIONS PLUS 1 WARMUP REPETITION
        TASK 0 ASYNCHRONOUSLY SENDS A 8 BYTE (i MOD 64) BYTE MISALIGNED MESSAGE TO TASK 1 THEN
      ALL TASKS AWAIT COMPLETION THEN TASK 2 OUTPUTS i }."""


def test_long_loop_makes_the_interpreters_calls(tmp_path: Path) -> None:
    same_calls(LONG_LOOP, tmp_path, 3)


def test_start_does_not_depend_on_the_number_of_iterations(tmp_path: Path) -> None:
    source = (
        "FOR EACH i IN {1,...,1G} FOR EACH j IN {1,...,1G} "
        "TASK 0 SENDS A 4 BYTE (i MOD 64) BYTE MISALIGNED MESSAGE TO TASK 1."
    )
    execute(compiled(source, tmp_path), 2, 3).check()


def test_options_and_backend_code(tmp_path: Path) -> None:
    source = (
        'THE BACKEND DECLARES "static int q = 1;". n IS "N" AND COMES FROM "--n" OR "-n" WITH DEFAULT 2*1K.\n'
        'ALL TASKS t BACKEND EXECUTE "q += (int)(" AND t AND "); printf(\\"q=%d n=%.0f\\\\n\\", q, " AND n AND ");".'
    )
    program = compiled(source, tmp_path)
    assert execute(program, 3, 4).check().stdout == "q=4 n=2048\n"
    assert execute(program, 1, 4, "-n", "-3K").check().stdout == "q=2 n=-3072\n"
    assert execute(program, 0, 4, "--n=1E3").check().stdout == "q=1 n=1000\n"
    shown = execute(program, 0, 4, "-?").check().stdout
    assert "-n, --n=<number>  N [default: 2048]" in shown
    for words in (["--m"], ["-n"], ["-n", "5x"]):
        refused = execute(program, 0, 4, *words)
        assert refused.returncode == 1
        assert refused.stderr.startswith("a.ncptl: ")


FAULTS = [
    ("TASK 0 SENDS A 4 BYTE MESSAGE TO TASK 0.", "1:1: task 0 would send to itself"),
    ("TASK 0 MULTICASTS A 8 BYTE MESSAGE USING TAG 5 TO TASK 1.", "1:19: collective messages have no tags"),
    ("ALL TASKS t ASYNCHRONOUSLY SEND A 4 BYTE MESSAGE TO TASK t+1.", "1:1: task 0 never awaits"),
    (
        "ALL TASKS t SEND A 4 BYTE MESSAGE TO TASK (t+1) MOD num_tasks.",
        "1:1: this never ends: task 0 waits for a",
    ),
    (
        "TASK 1 RECEIVES A 8 BYTE MESSAGE FROM TASK 0.",
        "1:1: this never ends: task 1 waits for a message of task 0",
    ),
    ("FOR EACH i IN {1,4,9,...,81} TASK i SYNCHRONIZES.", "1:15: 1, 4, 9, ... is neither"),
    ("FOR EACH i IN {0,1} TASK 1/i SYNCHRONIZES.", "1:26: this has no value: division by zero"),
    ('ASSERT THAT "50% more" WITH num_tasks>4.', "1:1: the program asserts: 50% more"),
    ("TASK 0 RESTORES ITS COUNTERS.", "1:1: task 0 restores counters"),
]


@pytest.mark.parametrize(
    ("source", "said"), FAULTS[:2] + [pytest.param(*f, marks=pytest.mark.slow) for f in FAULTS[2:]]
)
def test_faults(source: str, said: str, tmp_path: Path) -> None:
    refused = execute(compiled(source, tmp_path), 0, 4)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"a.ncptl:{said}")
    assert "@" not in refused.stdout


@pytest.mark.parametrize("depth", [400, 900])
def test_a_deep_expression_is_a_program_error(depth: int) -> None:
    program = check(f"TASK 0 OUTPUTS {'-' * depth}1.")
    with pytest.raises(ProgramError, match="nested too deeply"):
        compile_program(program, "deep.ncptl")
