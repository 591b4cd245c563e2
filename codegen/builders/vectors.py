"""Value vectors whose integers are formulas: the value at an index, and the sum of those before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from scalatrace.formula import (
    Compare,
    Const,
    Expr,
    Special,
    Symbolic,
    Value,
    add,
    choose,
    compare,
    entry,
    mul,
    number,
    select,
    sub,
)
from scalatrace.formula.domain import Domain
from scalatrace.formula.polynomials import quotient, remainder

__all__ = ["at", "prefix", "row"]

Term = Any
"""An expression, or (turns, stride, content): a loop of values."""


def at(terms: Sequence[Term], index: Expr, facts: Domain) -> Value:
    """The value at an index."""
    chain, start = [], Const(0)
    pieces = list(_pieces(terms))
    e: Value = Const(0)
    for i, piece in enumerate(pieces):
        e = _of_piece(piece, sub(index, start), facts)
        if i < len(pieces) - 1:
            start = add(start, _length(piece))  # type: ignore[assignment]
            chain.append((start, e))
    for end, before in reversed(chain):
        e = select(compare("<", index, end), before, e)
    return e


def prefix(terms: Sequence[Term], n: Expr, facts: Domain) -> Expr:
    """The sum of the values before index n."""
    chain: list[tuple[Expr, Expr]] = []
    start: Expr = Const(0)
    total: Expr = Const(0)
    pieces = list(_pieces(terms))
    e: Expr = Const(0)
    for i, piece in enumerate(pieces):
        e = add(total, _prefix_of_piece(piece, sub(n, start), facts))
        if i < len(pieces) - 1:
            length = _length(piece)
            total = add(total, _prefix_of_piece(piece, length, facts))
            start = add(start, length)
            chain.append((start, e))
    for end, before in reversed(chain):
        e = choose(compare("<", n, end), before, e)
    return e


def _pieces(terms: Sequence[Term]) -> Iterator[list[Term]]:
    """Single values side by side, and loops."""
    singles: list[Term] = []
    for term in terms:
        if type(term) is tuple:
            if singles:
                yield singles
            yield [term]
            singles = []
        else:
            singles.append(term)
    if singles:
        yield singles


def _length(terms: Sequence[Term]) -> Expr:
    total: Expr = Const(0)
    for term in terms:
        total = add(total, mul(term[0], _length(term[2:])) if type(term) is tuple else Const(1))
    return total


def _of_piece(piece: list[Term], index: Expr, facts: Domain) -> Value:
    if type(piece[0]) is not tuple:
        return row(piece, index)
    turns, stride, *content = piece[0]
    period = _length(content)
    turn, within = quotient(index, period, facts), remainder(index, period, facts)
    if turns == Const(1):
        turn, within = Const(0), index
    value = at(content, within, facts)
    return value if stride == Const(0) else add(number(value), mul(turn, stride))


def _prefix_of_piece(piece: list[Term], n: Expr, facts: Domain) -> Expr:
    if type(piece[0]) is not tuple:
        sums: list[Expr] = [Const(0)]
        for e in piece:
            sums.append(add(sums[-1], number(e)))
        return number(row(sums, n))
    _, stride, *content = piece[0]
    period = _length(content)
    turns, within = quotient(n, period, facts), remainder(n, period, facts)
    total = add(mul(turns, prefix(content, period, facts)), prefix(content, within, facts))
    if stride == Const(0):
        return total
    pairs = quotient(mul(turns, sub(turns, Const(1))), Const(2), facts)
    return add(total, mul(stride, add(mul(pairs, period), mul(turns, within))))


def row(values: Sequence[Value], index: Expr) -> Value:
    """One of a few values."""
    if isinstance(index, Const) and 0 <= index.value < len(values):
        return values[index.value]
    if all(e == values[0] for e in values):
        return values[0]
    numbers = [e for e in values if not isinstance(e, Symbolic)]
    steps = {sub(b, a) for a, b in pairwise(numbers)} if len(numbers) == len(values) else set()
    if len(values) > 2 and len(steps) == 1:
        return add(numbers[0], mul(index, steps.pop()))
    entries = [e.value if isinstance(e, Const) else e for e in values if isinstance(e, Const | Special)]
    if len(entries) == len(values):
        return entry(entries, index)
    last = values[-1]
    for k in range(len(values) - 2, -1, -1):
        last = select(Compare("==", index, Const(k)), values[k], last)
    return last
