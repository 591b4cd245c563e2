"""One meaning: integers, columns, and exact arithmetic agree on random formulas, or all report overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalatrace.errors import FormulaError
from scalatrace.formula import (
    Binary,
    Called,
    Choose,
    Cond,
    Const,
    Expr,
    Item,
    Member,
    Special,
    Var,
    evaluate,
    evaluate_all,
    format_text,
    parse,
    parse_condition,
    parse_number,
    select,
)
from scalatrace.formula.evaluation.columns import ColumnEvaluator
from scalatrace.formula.functions import FUNCTIONS
from scalatrace.formula.parse import MAX_LENGTH
from support.expressions import NAMES, conditions, expressions, numbers

POINTS = 7

points = st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, numbers)), min_size=POINTS, max_size=POINTS)


def outcome(e: Expr | Cond, names: dict[str, Any]) -> Any:
    """The value, or "no value"."""
    try:
        return int(evaluate(e, names))
    except FormulaError:
        return "no value"


@settings(deadline=None)
@given(expressions(), points)
@example(Binary("*", Var("a"), Var("b")), [{"a": 1 << 62, "b": 2, "c": 0, "d": 0}] * POINTS)
@example(Binary("//", Var("a"), Var("b")), [{"a": -(1 << 63), "b": -1, "c": 0, "d": 0}] * POINTS)
@example(
    Choose(parse_condition("b!=0"), parse_number("a//b"), Const(7)), [{"a": 5, "b": 0, "c": 0, "d": 0}] * 7
)
def test_columns_are_integers_side_by_side(e: Expr, rows: list[dict[str, int]]) -> None:
    """A column has no value where one of its integers has none."""
    alone = [outcome(e, row) for row in rows]
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in NAMES}
    try:
        found = np.broadcast_to(evaluate(e, columns), (POINTS,)).tolist()
    except FormulaError:
        assert "no value" in alone
        return
    assert alone == found


@settings(deadline=None)
@given(conditions(), points)
def test_masks_are_conditions_side_by_side(cond: Cond, rows: list[dict[str, int]]) -> None:
    alone = [outcome(cond, row) for row in rows]
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in NAMES}
    try:
        found = np.broadcast_to(evaluate(cond, columns), (POINTS,)).astype(int).tolist()
    except FormulaError:
        assert "no value" in alone
        return
    assert alone == found


@settings(deadline=None)
@given(st.lists(expressions(), min_size=1, max_size=6), points)
def test_many_formulas_at_once(formulas: list[Expr], rows: list[dict[str, int]]) -> None:
    """Common parts are evaluated once; one that divides by zero is None."""
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in NAMES}
    try:
        found = evaluate_all(formulas, columns)
    except FormulaError:
        assert any(outcome_of(e, columns) is None for e in formulas)
        return
    for e, values in zip(formulas, found, strict=True):
        if values is None:
            assert outcome_of(e, columns) is None
        else:
            assert np.array_equal(values, evaluate(e, columns))


def outcome_of(e: Expr, columns: dict[str, Any]) -> Any:
    try:
        return evaluate(e, columns)
    except FormulaError:
        return None


@settings(deadline=None)
@given(expressions())
def test_text_comes_back(e: Expr) -> None:
    """What is printed has the same values when it is read; reading it again changes nothing."""
    text = format_text(e)
    if len(text) > MAX_LENGTH:
        return
    read = parse_number(text)
    once = format_text(read)
    assert format_text(parse_number(once)) == once
    for row in ({"a": 3, "b": -7, "c": 0, "d": 1 << 40}, {"a": -1, "b": 2, "c": 5, "d": 62}):
        assert outcome(read, row) == outcome(e, row)


@settings(deadline=None)
@given(conditions())
def test_text_of_conditions_comes_back(cond: Cond) -> None:
    read = parse_condition(format_text(cond))
    for row in ({"a": 3, "b": -7, "c": 0, "d": 1 << 40}, {"a": -1, "b": 2, "c": 5, "d": 62}):
        if outcome(cond, row) != "no value":
            assert outcome(read, row) == outcome(cond, row)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@given(st.data())
def test_functions_of_arrays_are_those_of_integers(name: str, data: st.DataObject) -> None:
    arity = FUNCTIONS[name].arity
    if name == "diagonal":
        rows = data.draw(
            st.lists(
                st.tuples(st.integers(0, 1 << 32), st.integers(1, 99), numbers, st.sampled_from([1, -1]))
            )
        )
    else:
        rows = data.draw(st.lists(st.tuples(*[numbers] * arity), max_size=9))
    e = Called(name, tuple(map(Var, "abcd"[:arity])))
    columns = {n: np.array([row[i] for row in rows], dtype=np.int64) for i, n in enumerate("abcd"[:arity])}
    alone = [outcome(e, dict(zip("abcd", row, strict=False))) for row in rows]
    try:
        found = evaluate(e, columns).tolist()
    except FormulaError:
        assert "no value" in alone
        return
    assert found == alone


@pytest.mark.parametrize("n", [1, 2, 3, (1 << 49) - 1, 1 << 49, (1 << 62) - 1, 1 << 62, (1 << 63) - 1])
def test_logarithms_are_exact(n: int) -> None:
    column = np.array([n])
    for text, wanted in (("log2(n)", n.bit_length() - 1), ("ceil_log2(n)", (n - 1).bit_length())):
        assert evaluate(parse(text), {"n": n}) == wanted
        assert evaluate(parse(text), {"n": column}).tolist() == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "", "1+", "x.y", "x[0]", "f(x=1)", "lambda: 1", "'a'", "1.5", "True", "x if y else z", "x<y<z",
        "not x", "-" * 900 + "1", "(" * 900 + "x" + ")" * 900, "1" * 30, "9" * 5000, "x+" * 300 + "x",
        "x" * (MAX_LENGTH + 1), "__import__('os')", "[1]", "x@y", "x**y", "x/y", "~x", "+x", "x and y", "*x",
        "x:=1", "\0", "é" * 20 + "(",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    """Quickly, with one error."""
    with pytest.raises(FormulaError, match="not a formula"):
        parse(text)


def test_symbols_are_no_numbers() -> None:
    symbols = {"PROC_NULL": -1000000001}
    value = parse("choose(x==0,PROC_NULL,x-1)", symbols)
    assert value == select(parse_condition("x==0"), Special("PROC_NULL"), parse_number("x-1"))
    assert parse("choose(x==0,-1000000001,x-1)", symbols) == value
    assert format_text(value) == "choose(x==0,PROC_NULL,x-1)"
    assert format_text(value, symbols) == "choose(x==0,-1000000001,x-1)"
    assert evaluate(value, {"x": np.arange(3)}, specials=symbols).tolist() == [-1000000001, 0, 1]
    assert evaluate(value, {"x": 0}, specials=symbols) == -1000000001


def test_errors_name_the_formula() -> None:
    with pytest.raises(FormulaError, match=r"1//x divides by zero"):
        evaluate(parse("1//x"), {"x": 0})
    with pytest.raises(FormulaError, match=r"x\+y needs a value for y"):
        evaluate(parse("x+y"), {"x": 0})
    with pytest.raises(FormulaError, match=r"x\*x cannot be evaluated: .* does not fit into 64 bits"):
        evaluate(parse("x*x"), {"x": np.array([1 << 40, 2])})
    with pytest.raises(FormulaError, match=r"no formula knows the function f.*--plugin"):
        evaluate(parse("f(x)"), {"x": 1})


def test_many_choices_within_each_other() -> None:
    """Conditions of very many classes, and chains of choices, are evaluated whatever their number."""
    many = "+".join(f"(x=={i})" for i in range(150))
    assert evaluate(parse_condition(many), {"x": 149}) == 1
    e: Expr = Const(0)
    for i in range(80):
        e = Choose(parse_condition(f"x=={i}"), Const(i), e)
    assert [evaluate(e, {"x": i}) for i in (0, 79, 80)] == [0, 79, 0]
    assert evaluate(e, {"x": np.arange(81)}).tolist() == [*range(80), 0]


def test_members_and_items() -> None:
    table = Item((5, 7, 11), Var("x"))
    assert evaluate(table, {"x": np.array([2, 0])}).tolist() == [11, 5]
    with pytest.raises(FormulaError, match="none with index 3"):
        evaluate(table, {"x": np.array([2, 3])})
    with pytest.raises(FormulaError, match="none with index -1"):
        evaluate(table, {"x": -1})
    assert evaluate(Member(Var("x"), (1, 3)), {"x": np.arange(4)}).tolist() == [False, True, False, True]


def test_common_parts_are_evaluated_once() -> None:
    calls = []

    class Counting(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            calls.append(name)
            return super().__getitem__(name)

    shared = parse_number("x*x+1")
    columns = ColumnEvaluator(Counting(x=np.arange(5)))
    columns.value(Binary("+", shared, Binary("*", shared, shared)))
    assert calls == ["x"]
