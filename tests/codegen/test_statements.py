"""Statements of a program in the order of its text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.program.tree import Branch, CountedLoop, FunctionPart, LocalVariable, Stmt, statements
from scalatrace.formula import TRUE, Const, Var

LEAVES = st.integers(0, 99).map(lambda n: LocalVariable(Var(f"v{n}"), Const(n)))
BODIES = st.recursive(
    st.lists(LEAVES, max_size=3).map(tuple),
    lambda inner: st.lists(
        st.one_of(
            LEAVES,
            inner.map(lambda body: CountedLoop(Var("i"), Const(2), body)),
            st.tuples(inner, inner).map(lambda both: Branch(TRUE, *both)),
            inner.map(lambda body: FunctionPart("f", (), body)),
        ),
        max_size=3,
    ).map(tuple),
    max_leaves=12,
)


def recursive(body: tuple[Stmt, ...], parts: bool) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, CountedLoop) or (parts and isinstance(stmt, FunctionPart)):
            yield from recursive(stmt.body, parts)
        elif isinstance(stmt, Branch):
            yield from recursive(stmt.then, parts)
            yield from recursive(stmt.otherwise, parts)


@pytest.mark.parametrize("parts", [True, False])
@given(body=BODIES)
def test_all_statements_in_order(parts: bool, body: tuple[Stmt, ...]) -> None:
    assert list(statements(body, parts)) == list(recursive(body, parts))
