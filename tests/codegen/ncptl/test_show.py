"""A program that is printed and read again is the same program."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.conceptual.printer.program import show
from support import ncptl_trees as trees
from support.ncptl_programs import PROGRAMS

SLOW_TO_MAKE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def again(program: t.ProgramTree) -> None:
    text = show(program)
    assert parse(text) == program, text


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW_TO_MAKE)
@given(trees.programs)
def test_random_programs_survive(program: t.ProgramTree) -> None:
    again(program)


@settings(max_examples=50, deadline=None, suppress_health_check=SLOW_TO_MAKE)
@given(trees.statements)
def test_random_statements_survive(statement: t.Statement) -> None:
    again(t.ProgramTree((), (t.Sentence((statement,)),)))


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_TO_MAKE)
@given(trees.expressions)
def test_random_expressions_survive(expression: t.Expr) -> None:
    again(t.ProgramTree((), (t.Sentence((t.Output(t.AllTasks(), (expression,)),)),)))


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_survive(source: str) -> None:
    again(parse(source))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("TASK 0 OUTPUTS x-(MIN(1,2)).", "TASK 0 OUTPUTS x - (MIN(1, 2))."),
        ("TASK 0 OUTPUTS -(SQRT(4)).", "TASK 0 OUTPUTS 0 - (SQRT(4))."),
        ("TASK 0 OUTPUTS -(MY TASK).", "TASK 0 OUTPUTS -(MY TASK)."),
        ("TASK 0 SENDS n (-m) BYTE MESSAGES TO TASK 1.", "TASK 0 SENDS n (-m) BYTE MESSAGES TO TASK 1."),
        ("TASK 0 SENDS A 64-BYTE PAGE-ALIGNED MESSAGE TO TASK 1.",
         "TASK 0 SENDS A 64 BYTE PAGE ALIGNED MESSAGE TO TASK 1."),
        ("TASK 0 OUTPUTS 10-(4-3)-2**-1.", "TASK 0 OUTPUTS 10 - (4 - 3) - 2**-1."),
        ("TASKS t SUCH THAT (t=0 \\/ t=2) /\\ t<5 SYNCHRONIZE.",
         "TASKS t SUCH THAT (t = 0 \\/ t = 2) /\\ t < 5 SYNCHRONIZE."),
    ],
)  # fmt: skip
def test_text_is_safe_for_the_first_compiler(source: str, text: str) -> None:
    assert show(parse(source)) == text + "\n"


def test_a_dangling_otherwise_gets_braces() -> None:
    one, two = t.Output(t.AllTasks(), ("1",)), t.Output(t.AllTasks(), ("2",))
    test = t.NumberComparison("=", t.Integer(1), t.Integer(1))
    program = t.ProgramTree((), (t.Sentence((t.If(test, t.If(test, one), two),)),))
    read = parse(show(program)).sentences[0].statements[0]
    assert read == t.If(test, t.Block((t.If(test, one),)), two)


def test_comments_stand_beside_their_statements() -> None:
    everyone = t.AllTasks()
    first = t.Synchronize(everyone, comments=t.Comments(("above",), "behind"))
    block = t.Block((first, t.Await(everyone, comments=t.Comments(below=("below",)))))
    loop = t.ForCount(t.Integer(2), block, comments=t.Comments(behind="loop"))
    program = t.ProgramTree((), (t.Sentence((loop,)),), comments=t.Comments(("title",)))
    text = show(program)
    assert text.split("\n") == [
        "# title",
        "",
        "FOR 2 REPETITIONS {",
        "  # above",
        "  ALL TASKS SYNCHRONIZE THEN  # behind",
        "  ALL TASKS AWAIT COMPLETION",
        "  # below",
        "}.  # loop",
        "",
    ]
    assert parse(text) == program


def test_long_chains_are_printed() -> None:
    """A table or a sum of thousands of terms nests as deeply in the tree."""
    sum_: t.Expr = t.Integer(0)
    chain: t.Expr = t.Integer(0)
    test: t.Rel = t.NumberComparison("=", t.Variable("x"), t.Integer(0))
    both = test
    for _ in range(3000):
        sum_ = t.BinaryOperation("+", sum_, t.Integer(1))
        chain = t.Conditional(t.Integer(1), test, chain)
        both = t.Logical(True, both, test)
    assert show(sum_).count("+") == show(chain).count("IF") == show(both).count("/\\") == 3000
