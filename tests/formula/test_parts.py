"""Parts of expressions: equal parts as one object, their uses, nodes with other parts."""

from __future__ import annotations

from scalatrace.formula import (
    Binary,
    Choose,
    Compare,
    Const,
    Interner,
    Item,
    Var,
    children,
    count_uses,
    with_children,
)


def test_equal_parts_become_one_object() -> None:
    def expression() -> Choose:
        index = Binary("+", Var("i", 5), Const(1))
        return Choose(Compare("<", index, Const(3)), Item((1, 2, 3), index), Const(7))

    intern = Interner()
    first = intern(expression())
    assert intern(expression()) is first == expression()
    index = first.cond.left  # type: ignore[union-attr]
    assert count_uses([first])[id(index)] == 2
    assert with_children(first, children(first)) is first
