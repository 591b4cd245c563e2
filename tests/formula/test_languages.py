"""Generated C, Python and coNCePTuaL give formulas the values of the evaluator, or report overflow."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.values.evaluate import Env, integer
from scalatrace.codegen.emit.c.emitter import CEmitter
from scalatrace.codegen.emit.conceptual.common import expr_writer
from scalatrace.codegen.emit.formula_printer import Infix
from scalatrace.codegen.emit.python.emitter import PythonEmitter
from scalatrace.codegen.errors import GenerateError
from scalatrace.errors import FormulaError
from scalatrace.formula import (
    Binary,
    Called,
    Choose,
    Compare,
    Const,
    Expr,
    children,
    evaluate,
    functions_in,
    parse_number,
    sub,
)
from scalatrace.formula.evaluation.scalar import MAX_SHIFT
from scalatrace.formula.rewrite import rewritten
from support.expressions import NAMES, expressions, numbers, random_expression, random_number

BATCH = 250
"""Formulas of one C program."""

rows = st.fixed_dictionaries(dict.fromkeys(NAMES, numbers))

HARNESS = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
%s
static long run(int i, const long *v) {
    const long a = v[0], b = v[1], c = v[2], d = v[3];
    (void)a, (void)b, (void)c, (void)d;
    switch (i) {
%s
    }
    return 0;
}

int main(void) {
    static const long rows[][4] = {%s};
    for (int i = 0; i < %d; i++) {
        int ends[2], status;
        long value = 0;
        if (pipe(ends)) return 1;
        pid_t child = fork(); /* an overflow ends it */
        if (!child) {
            value = run(i, rows[i]);
            _exit(write(ends[1], &value, sizeof value) != sizeof value);
        }
        waitpid(child, &status, 0);
        close(ends[1]);
        if (read(ends[0], &value, sizeof value) == sizeof value && !status)
            printf("%%ld\\n", value);
        else
            printf("none\\n");
        close(ends[0]);
    }
    return 0;
}
"""


def wanted(e: Expr, row: dict[str, int]) -> int | None:
    try:
        return int(evaluate(e, row))
    except FormulaError:
        return None


def in_c(given: list[tuple[Expr, dict[str, int]]], folder: Path) -> list[int | None]:
    """The values that a C program of the formulas prints; None where it overflows or divides by zero."""

    def constant(n: int) -> str:
        return f"({n + 1}L - 1)" if n == -(1 << 63) else f"{n}L"

    emitter = CEmitter()
    infix = Infix(emitter.notation, str, constant, str, str)
    lines = [f"    case {i}: return {infix.expr(e)};" for i, (e, _) in enumerate(given)]
    pieces = "\n".join(piece.text for piece in emitter.library.collect(sorted(infix.helpers)))
    table = ", ".join("{" + ", ".join(constant(row[name]) for name in NAMES) + "}" for _, row in given)
    source = folder / "formulas.c"
    source.write_text(HARNESS % (pieces, "\n".join(lines), table, len(given)))
    flags = ["-O1", "-w", "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero"]
    flags += ["-fno-sanitize-recover=all", "-fsanitize-undefined-trap-on-error"]
    binary = folder / "formulas"
    subprocess.run(
        ["cc", *flags, "-o", binary, source], check=True, capture_output=True, text=True, timeout=120
    )
    done = subprocess.run([binary], check=True, capture_output=True, text=True, timeout=120)
    return [None if line == "none" else int(line) for line in done.stdout.split()]


def in_python(e: Expr, row: dict[str, int]) -> int | None:
    emitter = PythonEmitter()
    infix = Infix(emitter.notation, str, str, str, str)
    text = infix.expr(e)
    scope: dict[str, Any] = {}
    for piece in emitter.library.collect(sorted(infix.helpers)):
        exec(piece.text, scope)
    try:
        return int(eval(text, scope, dict(row)))
    except ZeroDivisionError:
        return None


def in_conceptual(e: Expr, row: dict[str, int]) -> int | str | None:
    """The value of the interpreter; "refused" where the language has no such expression."""

    def change(part: Expr) -> Expr | None:  # as the emitter of scalable programs does
        match part:
            case Binary("//", a, b):
                return Binary("/", sub(a, Binary("%", a, b)), b)
            case Called("log2", (n,)):
                return Choose(Compare(">", n, Const(0)), sub(Called("bits", (n,)), Const(1)), Const(-1))
        return None

    if not _is_of_programs(e, row):
        return "refused"  # programs divide by sizes, and shift by less than 63
    try:
        node = expr_writer.expr(rewritten(e, change))
        return integer(node, Env(names=row))
    except (GenerateError, KeyError):
        return "refused"
    except ProgramError:
        return None


def _is_of_programs(part: Any, row: dict[str, int]) -> bool:
    right = wanted(part.right, row) if isinstance(part, Binary) else None
    if isinstance(part, Binary) and part.op in ("//", "%") and (right or 0) <= 0:
        return False
    if isinstance(part, Binary) and part.op in ("<<", ">>") and right not in range(MAX_SHIFT + 1):
        return False
    blocks = isinstance(part, Called) and part.name in ("block", "block_start")
    return not blocks and all(_is_of_programs(child, row) for child in children(part))


def check_c(given: list[tuple[Expr, dict[str, int]]], folder: Path) -> None:
    """A function of C may overflow where the evaluator's exact integers do not."""
    for (e, row), found in zip(given, in_c(given, folder), strict=True):
        if (value := wanted(e, row)) is not None:
            within_function = found is None and functions_in(e) & {"block", "block_start"}
            assert found == value or within_function, f"{e} of {row}"


def batch(random: Random) -> list[tuple[Expr, dict[str, int]]]:
    """So many formulas with values of their variables."""
    return [
        (random_expression(random, 4), {name: random_number(random) for name in NAMES}) for _ in range(BATCH)
    ]


@settings(deadline=None, max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
def test_c(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check_c(batch(Random(seed)), tmp_path_factory.mktemp("c"))


@pytest.mark.slow
@settings(deadline=None, max_examples=40, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
def test_c_with_ten_thousand(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check_c(batch(Random(seed)), tmp_path_factory.mktemp("c"))


def test_c_reports_overflow(tmp_path: Path) -> None:
    big = 1 << 62
    names = {"a": big, "b": big, "c": -(1 << 63), "d": 3}
    a, b, c, d = (parse_number(name) for name in NAMES)
    given = [
        (e, names)
        for e in (
            Binary("+", a, b),
            Binary("-", c, d),
            Binary("*", a, d),
            Binary("<<", a, d),
            Binary("%", a, Const(0)),
        )
    ]
    assert in_c(given, tmp_path) == [None] * 5
    assert [wanted(e, row) for e, row in given] == [None] * 5


def test_c_divides_the_least_number_by_minus_one(tmp_path: Path) -> None:
    a, b, *_ = (parse_number(name) for name in NAMES)
    row = {"a": -(1 << 63), "b": -1, "c": 0, "d": 0}
    assert in_c([(Binary("%", a, b), row), (Binary("//", a, b), row)], tmp_path) == [0, None]


@settings(deadline=None)
@given(expressions(), rows)
def test_python(e: Expr, row: dict[str, int]) -> None:
    if (value := wanted(e, row)) is not None:
        assert in_python(e, row) == value


@settings(deadline=None)
@given(expressions(), rows)
def test_conceptual(e: Expr, row: dict[str, int]) -> None:
    found = in_conceptual(e, row)
    if found != "refused" and found is not None and (value := wanted(e, row)) is not None:
        assert found == value


def test_conceptual_has_most() -> None:
    """The comparison above compares something."""
    text = "(a+b*c)//7-a%5"
    row = {"a": -9, "b": 4, "c": 3, "d": 0}
    assert in_conceptual(parse_number(text), row) == wanted(parse_number(text), row)
