"""Random expressions and conditions over the variables a, b, c and d."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from scalatrace.formula import (
    AllOf,
    AnyOf,
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Member,
    Var,
)

NAMES = "abcd"

numbers = (
    st.integers(-9, 9)
    | st.integers(-100, 100)
    | st.sampled_from([1 << 31, -(1 << 31), 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63)])
)

_leaves: st.SearchStrategy[Expr] = st.builds(Const, numbers) | st.sampled_from(NAMES).map(Var)
_OPS = ["+", "-", "*", "//", "%", "^", "&", "<<", ">>"]
_CALLS = [
    ("log2", 1), ("ceil_log2", 1), ("trailing_zeros", 1), ("popcount", 1), ("min", 2), ("max", 2),
    ("block", 3), ("block_start", 3),
]  # fmt: skip


def _compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    called = st.sampled_from(_CALLS).flatmap(
        lambda call: st.builds(Called, st.just(call[0]), st.tuples(*[inner] * call[1]))
    )
    binary = st.builds(Binary, st.sampled_from(_OPS), inner, inner)
    return binary | binary | called | st.builds(Choose, _conditions(inner), inner, inner)


def _conditions(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Cond]:
    compared = st.builds(Compare, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), inner, inner)
    member = st.builds(
        Member, inner, st.sets(numbers, min_size=1, max_size=5).map(sorted).map(tuple), st.booleans()
    )
    simple = compared | compared | member
    several = st.lists(simple, min_size=2, max_size=3, unique=True).map(tuple)
    return simple | st.builds(AllOf, several) | st.builds(AnyOf, several)


def expressions() -> st.SearchStrategy[Expr]:
    """Any expression of a few nodes; constants and variables reach the whole range of 64 bits."""
    return st.recursive(_leaves, _compound, max_leaves=8)


def conditions() -> st.SearchStrategy[Cond]:
    """Any condition."""
    return _conditions(expressions())


def random_number(random: Random) -> int:
    """A number from the whole range of 64 bits, often a small one."""
    if random.random() < 0.8:
        return random.randint(-20, 100)
    return random.choice([1 << 31, -(1 << 31), 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63)])


def random_expression(random: Random, depth: int) -> Expr:
    """An expression of at most so many levels, without hypothesis: many of them are made at once."""
    kind = random.random()
    if not depth or kind < 0.15:
        return Var(random.choice(NAMES)) if random.random() < 0.7 else Const(random_number(random))

    def inner() -> Expr:
        return random_expression(random, depth - 1)

    if kind < 0.75:
        return Binary(random.choice(_OPS), inner(), inner())
    if kind < 0.9:
        name, arity = random.choice(_CALLS)
        return Called(name, tuple(inner() for _ in range(arity)))
    op = random.choice(["==", "!=", "<", "<=", ">", ">="])
    return Choose(Compare(op, inner(), inner()), inner(), inner())
