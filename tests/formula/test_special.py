"""Symbols that are no numbers: choices of them, tables with them, and what refuses them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.errors import FormulaError
from scalatrace.formula import (
    Const,
    Expr,
    Item,
    Lookup,
    Select,
    Special,
    Value,
    Var,
    add,
    compare,
    entry,
    evaluate,
    format_text,
    map_leaves,
    number,
    number_or,
    select,
    separated,
    specials_in,
)

SPECIALS = {"A": -1000000001, "B": -1000000002}
A, B = Special("A"), Special("B")
INDEX = Var("i")
AT_FIRST = compare("==", INDEX, Const(0))
entries = st.one_of(st.integers(-5, 5), st.sampled_from([A, B]))
tables = st.lists(entries, min_size=1, max_size=8)


def values(value: Value, n: int) -> list[int]:
    """The values at each index, as scalars; checked against those of an array."""
    scalars = [int(evaluate(value, {"i": i}, specials=SPECIALS)) for i in range(n)]
    columns = evaluate(value, {"i": np.arange(n)}, specials=SPECIALS)
    assert np.broadcast_to(columns, n).tolist() == scalars
    return scalars


@given(tables)
def test_tables_with_symbols(table: list[int | Special]) -> None:
    value = entry(table, INDEX)
    listed = [SPECIALS[e.name] if isinstance(e, Special) else e for e in table]
    assert isinstance(value, Lookup) == any(isinstance(e, Special) for e in table)
    assert values(value, len(table)) == listed
    assert specials_in(value) == {e.name for e in table if isinstance(e, Special)}
    if isinstance(value, Lookup):
        assert values(separated(value, lambda e: e), len(table)) == listed


@given(tables)
def test_changes_reach_numbers_only(table: list[int | Special]) -> None:
    def change(e: Expr) -> Expr:
        return add(e, Var("i"))

    changed = map_leaves(entry(table, INDEX), change)
    listed = [SPECIALS[e.name] if isinstance(e, Special) else e + i for i, e in enumerate(table)]
    assert values(changed, len(table)) == listed


def test_numbers_in_place_of_symbols() -> None:
    choice = select(AT_FIRST, A, add(INDEX, Const(1)))
    assert values(number_or(choice, 7), 3) == [7, 2, 3]
    assert number_or(Lookup((1, A), INDEX), 0) == Item((1, 0), INDEX)
    assert number_or(B, 3) == Const(3)


@pytest.mark.parametrize("value", [A, Lookup((1, A), INDEX), Select(AT_FIRST, A, INDEX)])
def test_a_symbol_is_no_number(value: Value) -> None:
    with pytest.raises(FormulaError, match="A stands for no number"):
        number(value)


def test_a_number_is_a_number() -> None:
    assert number(INDEX) == INDEX


def test_text_of_a_table() -> None:
    assert format_text(Lookup((1, A), INDEX)) == "item(i,1,A)"
