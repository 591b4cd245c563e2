"""Generated coNCePTuaL programs made shorter: the same calls, fewer words."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import free
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.conceptual.printer.program import show
from scalatrace.codegen.emit.conceptual.emitter import shorter_tree
from support.ncptl_programs import PROGRAMS, calls, lowered


def shorter(source: str) -> str:
    return show(shorter_tree(parse(source)))


def loop(numbers: str, task: str) -> str:
    """A loop in which one task synchronizes."""
    return f"FOR EACH i IN {{{numbers}}} TASK ({task}) SYNCHRONIZES."


TWICE = "TASK ({0} + 1) SYNCHRONIZES THEN TASK ({0} + 2) SYNCHRONIZES"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("FOR EACH i IN {3} TASK i SYNCHRONIZES.", "TASK 3 SYNCHRONIZES."),
        (
            "FOR 1 REPETITIONS { TASK 1 SYNCHRONIZES THEN TASK 2 SYNCHRONIZES }.",
            "TASK 1 SYNCHRONIZES THEN\nTASK 2 ",
        ),
        ("FOR EACH i IN {0, ..., 3} TASK (5 IF i < 4 OTHERWISE i) SYNCHRONIZES.", "TASK 5"),
        (
            "FOR EACH i IN {0, ..., 7} TASK (1 IF i < 4 OTHERWISE 2 IF i >= 3 OTHERWISE 3) SYNCHRONIZES.",
            "TASK (1 IF i < 4 OTHERWISE 2)",
        ),
        ("FOR EACH i IN {0, ..., 7} IF i < 8 THEN TASK (i MOD 8) SYNCHRONIZES.", "{0, ..., 7} TASK i"),
        ("FOR EACH i IN {0, ..., 7} IF i > 8 THEN TASK 0 SYNCHRONIZES.\nTASK 1 SYNCHRONIZES.", "TASK 1 "),
        (
            f"FOR EACH i IN {{0, ..., 63}} {{ {TWICE.format('i MOD 16 / 4')} }}.",
            "  LET v1 BE i MOD 16 / 4 WHILE {\n    TASK (v1 + 1) SYNCHRONIZES THEN\n    TASK (v1 + 2) SYNC",
        ),
        ("TASK 0 COMPUTES FOR 1 MICROSECONDS.", "FOR 1 MICROSECOND."),
        (
            loop("0, 1", "5 IF i IS IN {0, 3} OTHERWISE 6 IF i IS IN {1, 4} OTHERWISE 7"),
            "TASK (5 IF i = 0 OTHERWISE 6)",
        ),
        (
            loop("0, ..., 5", "7 IF i IS IN {9, 13} OTHERWISE 8 IF i IS IN {1, 3, 9} OTHERWISE 9"),
            "TASK (8 IF i IS IN {1, 3} OTHERWISE 9)",
        ),
        (loop("0, ..., 3", "5 IF i IS NOT IN {4, 9} OTHERWISE i"), "TASK 5"),
        (loop("2, ..., 4", "7 IF i <> 2 OTHERWISE 8 IF i < 3 OTHERWISE 9"), "TASK (7 IF i <> 2 OTHERWISE 8)"),
        ("TASK (0 IF 1 IS IN {0, 1} OTHERWISE 1) SYNCHRONIZES.", "TASK 0 SYNC"),
        (
            loop("0, ..., 9", "i MOD 3 IF 3 DIVIDES i OTHERWISE 1"),
            "TASK (0 IF 3 DIVIDES i OTHERWISE 1)",
        ),
    ],
)  # fmt: skip
def test_what_is_left(source: str, wanted: str) -> None:
    assert wanted in shorter(source)


DRAWN = "1 IF RANDOM_UNIFORM(0, 9) < 5 OTHERWISE 2 IF RANDOM_UNIFORM(0, 9) < 3 OTHERWISE 3"


@pytest.mark.parametrize(
    "source",
    [
        f"TASK 0 COMPUTES FOR ({DRAWN}) SECONDS.",  # each draws another number
        # The division has no value in all iterations.
        f"FOR EACH i IN {{0, ..., 9}} IF i > 0 THEN {{ {TWICE.format('8 / i')} }}.",
        # Each draws another number.
        f"TASK 0 COMPUTES FOR ({DRAWN.replace('< 5', 'IS IN {1, 3}')}) SECONDS.",
        loop("0, ..., 9", "1 IF i IS IN {0, 3, 9} OTHERWISE 2 IF i IS IN {4, ..., 7} OTHERWISE 3"),
        # A variable of tasks is not known outside its statement.
        "FOR EACH i IN {0, ..., 9} TASKS u SUCH THAT u * 4 + i = 3 \\/ u * 4 + i = 5 SYNCHRONIZE.",
    ],
)
def test_what_stays(source: str) -> None:
    assert parse(shorter(source)) == parse(source)


def test_names_of_the_program_are_not_bound_again() -> None:
    text = shorter(
        "FOR EACH v1 IN {0, ..., 9} { TASK (v1 * 3 + 4) SYNCHRONIZES THEN TASK (v1 * 3 + 4) SYNCHRONIZES }."
    )
    assert "LET v_1 BE v1 * 3 + 4" in text


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_stay_the_same(name: str) -> None:
    before, after = lowered(PROGRAMS[name]), lowered(shorter(PROGRAMS[name]))
    assert [calls(after, rank) for rank in range(4)] == [calls(before, rank) for rank in range(4)]


def test_a_sum_that_is_too_deep_for_the_passes_is_written_as_it_is() -> None:
    program = parse(f"FOR EACH i IN {{0, ..., 9}} TASK ({' + '.join(['i'] * 900)}) SYNCHRONIZES.")
    assert shorter_tree(program) is program


def doubled(numbers: str, levels: int) -> str:
    """A shorter program with a sum of 2**levels terms, each level of which is the one below it twice."""
    deep: t.Expr = t.BinaryOperation("+", t.Variable("i"), t.Integer(5))
    for _ in range(levels):
        deep = t.BinaryOperation("+", deep, deep)
    parsed = parse(f"FOR EACH i IN {{{numbers}}} TASK 0 SENDS A 8 BYTE MESSAGE TO TASK 1.")
    (sentence,) = parsed.sentences
    (loop,) = sentence.statements
    assert isinstance(loop, t.ForEach)
    assert isinstance(loop.body, t.Send)
    sent = replace(loop.body, message=replace(loop.body.message, size=t.UnitAmount(deep, "BYTES")))
    sentence = replace(sentence, statements=(replace(loop, body=sent),))
    return show(shorter_tree(replace(parsed, sentences=(sentence,))))


def test_expressions_that_share_their_parts_are_not_written_out() -> None:
    text = doubled("0, ..., 7", 200)
    assert "v1 BE i + 5 + (i + 5) AND v2 BE v1 + v1 AND" in text
    assert text.count(" BE ") == 199  # `i + 5` is short and has no name
    assert f"A {8 << 50} BYTE MESSAGE" in doubled("3", 50)


def test_what_a_node_knows_of_itself_stays_behind() -> None:
    """Hashes of texts differ between processes."""
    node = t.BinaryOperation("+", t.Variable("i"), t.Integer(5))
    assert hash(node)
    assert free(node) == {"i"}
    copied = pickle.loads(pickle.dumps(node))
    assert copied == node
    assert not [name for name in vars(copied) if name.startswith("_")]
