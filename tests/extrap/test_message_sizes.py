"""Formulas that the traces do not tell apart are decided by the sizes of messages, where these can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace.extrap.errors import UndeterminedError
from scalatrace.extrap.extrapolate import model_of, of_model
from scalatrace.formula import Expr, parse_number
from scalatrace.trace.model.symbolic import Rule, SymbolicTrace
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

LINES = [(4,), (5,), (6,), (8,)]
RIGHT, WRONG = "3*X+2*x", "3*X+2*x+choose(X<9,0,1)"
"""What the left neighbours of a line send, and a formula that is equal on lines of less than 9 ranks."""


def line(room: int) -> Body:
    """Each rank of a line sends to the next one, which has room for some more; all sum up."""

    def body(rank: Rank) -> list[IssuedCall]:
        side, place = rank.dims[0], rank.place[0]
        common = {"datatype": "MPI_DOUBLE", "tag": 0, "comm": "world"}
        calls = []
        if place < side - 1:
            calls.append(call("Send", 1, count=3 * side + 2 * place, dest=place + 1, **common))
        if place:
            count = 3 * side + 2 * place - 2 + room
            calls.append(call("Recv", 2, count=count, source=place - 1, **common))
        return [*calls, call("Allreduce", 3, count=1, comm="world")]

    return body


@pytest.fixture(scope="module")
def model() -> SymbolicTrace:
    return model_of([trace_of(line(room=0), dims) for dims in LINES], LINES)[1]


def with_formulas(model: SymbolicTrace, op: str, *texts: str) -> SymbolicTrace:
    """The model with another formula, and rivals of it, for the count of one operation."""
    first, *others = map(parse_number, texts)

    def changed(rule: Rule) -> Rule:
        params = []
        for param in rule.params:
            if rule.op == op and param.name == "count":
                parts = tuple(
                    replace(part, formulas=(first,), rivals=rivals(first, others)) if part.formulas else part
                    for part in param.field.parts
                )
                param = replace(param, field=replace(param.field, parts=parts))
            params.append(param)
        return replace(rule, params=tuple(params), children=tuple(map(changed, rule.children)))

    return replace(model, nodes=tuple(map(changed, model.nodes)))


def rivals(first: Expr, others: list[Expr]) -> tuple[tuple[Expr, Expr], ...]:
    return tuple((first, other) for other in others)


@pytest.mark.parametrize("texts", [(RIGHT, WRONG), (WRONG, RIGHT)])
def test_the_other_side_of_messages_decides(model: SymbolicTrace, texts: tuple[str, str]) -> None:
    made = of_model(with_formulas(model, "Send", *texts), 12, (12,))
    assert diff(made.trace, trace_of(line(room=0), (12,)), ["times"]) == []


def test_both_sides_together_decide(model: SymbolicTrace) -> None:
    """Neither the one formula of the sender nor one of the receiver's agrees with any of the other side."""
    open_send = with_formulas(model, "Send", WRONG, RIGHT)
    both = with_formulas(open_send, "Recv", "3*X+2*x-2+choose(X<9,0,5)", "3*X+2*x-2")
    made = of_model(both, 12, (12,))
    assert diff(made.trace, trace_of(line(room=0), (12,)), ["times"]) == []


def test_formulas_that_agree_either_way_are_refused(model: SymbolicTrace) -> None:
    """If both sides may be longer by one, messages fit together in both cases."""
    open_send = with_formulas(model, "Send", RIGHT, WRONG)
    both = with_formulas(open_send, "Recv", "3*X+2*x-2", "3*X+2*x-2+choose(X<9,0,1)")
    with pytest.raises(UndeterminedError, match="the traces cannot tell"):
        of_model(both, 12, (12,))


def test_other_values_are_not_decided(model: SymbolicTrace) -> None:
    with pytest.raises(UndeterminedError, match="count of Allreduce"):
        of_model(with_formulas(model, "Allreduce", "1", "choose(X<9,1,2)"), 12, (12,))


def test_receives_of_one_length_decide_nothing(model: SymbolicTrace) -> None:
    """A buffer that is as long as all messages of the traces need not be as long as those of other sizes."""

    def equal(rank: Rank) -> list[IssuedCall]:
        return [replace_count(one, 12) if one.op in ("Send", "Recv") else one for one in line(room=0)(rank)]

    given = model_of([trace_of(equal, dims) for dims in LINES], LINES)[1]
    with pytest.raises(UndeterminedError, match="count of Send"):
        of_model(with_formulas(given, "Send", "12", "12+choose(X<9,0,1)"), 12, (12,))


def replace_count(one: IssuedCall, count: int) -> IssuedCall:
    """The call with another count."""
    return call(one.op, one.site, **{**dict(one.params), "count": count})


def test_counts_of_zero_are_compared(model: SymbolicTrace) -> None:
    open_send = with_formulas(model, "Send", "(3*X+2*x)*choose(X<9,1,0)", RIGHT)
    both = with_formulas(open_send, "Recv", "(3*X+2*x-2)*choose(X<9,1,0)", "3*X+2*x-2")
    with pytest.raises(UndeterminedError, match="the traces cannot tell"):
        of_model(both, 12, (12,))


def test_longer_receives_decide_nothing() -> None:
    """The count of a longer receive is not that of its message."""
    model = model_of([trace_of(line(room=100), dims) for dims in LINES], LINES)[1]
    with pytest.raises(UndeterminedError, match="count of Send"):
        of_model(with_formulas(model, "Send", RIGHT, WRONG), 12, (12,))
