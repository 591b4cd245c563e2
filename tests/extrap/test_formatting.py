"""Symbolic traces as text: datatypes and names of files in MPI's terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.errors import FormulaError
from scalatrace.extrap import model_of
from scalatrace.extrap.formatting import lines
from scalatrace.formula import Binary, Const, Expr, Var, evaluate, parse_condition, parse_number
from scalatrace.trace.symbolic.field import EVERYWHERE, Part
from scalatrace.trace.symbolic.format_condition import format_condition
from scalatrace.trace.symbolic.format_formula import format_parts
from support.calls import IssuedCall, call
from support.grids import Rank, trace_of

SIZES = [(4,), (5,), (6,)]


def text_of(body: object) -> str:
    return "\n".join(lines(model_of([trace_of(body, size) for size in SIZES], SIZES)[1]))  # type: ignore[arg-type]


def test_datatypes_have_their_names() -> None:
    def typed(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=2, datatype="MPI_DOUBLE", comm="world")]

    assert "datatype = MPI_DOUBLE " in text_of(typed)


def test_datatypes_that_change_are_a_list_and_an_index() -> None:
    def typed(rank: Rank) -> list[IssuedCall]:
        names = ("MPI_INT", "MPI_DOUBLE")
        return [call("Allreduce", 1, count=2, datatype=names[k % 2], comm="world") for k in range(8)]

    assert "datatype = {MPI_INT, MPI_DOUBLE}[0 1 ..] " in text_of(typed)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("(0<x)*(x<X-1)*(0<y)", "0<x<X-1 and y>0"),
        ("(x==0)+(x==X-1)", "x==0 or x==X-1"),
        ("((x==0)*(0<y))+(r==3)", "(x==0 and y>0) or rank==3"),
        ("((x==0)+(0<y))*(r!=3)", "(x==0 or y>0) and rank!=3"),
        ("x!=X-1", "x<X-1"),
        ("y!=0", "y>0"),
        ("r%2==1", "rank%2==1"),
    ],
)
def test_conditions_have_words(condition: str, text: str) -> None:
    assert format_condition(parse_condition(condition)) == text


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("-(Y*Z+1)+1", "rank - Y*Z"),
        ("Y*Z+1-1", "rank + Y*Z"),
        ("-Y", "rank - Y"),
        ("-(X+1)", "rank - X-1"),
        ("2*Y-Z", "rank + 2*Y-Z"),
        ("0", "rank + 0"),
    ],
)
def test_relative_peers_are_sums(formula: str, text: str) -> None:
    assert format_parts([Part(EVERYWHERE, None, (parse_number(formula),))], "rank + {}") == text


def test_value_vectors_are_written_as_in_trees() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        peers = [(rank.number + d) % rank.dims[0] for d in (1, 2)] * 3
        calls = [call("Isend", 1, count=n, dest=p, comm="world") for n, p in enumerate(peers)]
        return [*calls, call("Waitall", 2, requests=tuple(range(5, -1, -1)))]

    text = text_of(body)
    assert "requests = [5 4 3 2 1 0]" in text
    assert "count = [0 1 2 3 4 5]" in text
    assert "[[" not in text


def test_calls_of_some_ranks_end_with_their_condition() -> None:
    def chain(rank: Rank) -> list[IssuedCall]:
        (x,), (nprocs,) = rank.place, rank.dims
        sent = [call("Send", 1, count=1, datatype="MPI_INT", dest=x + 1, tag=0, comm="world")]
        received = [call("Recv", 2, count=1, datatype="MPI_INT", source=x - 1, tag=0, comm="world")]
        return sent * (x < nprocs - 1) + received * (x > 0)

    text = text_of(chain)
    assert "Send  count = 1  datatype = MPI_INT  dest = rank + 1  tag = 0  comm = world  where x<X-1" in text
    assert "source = rank - 1  tag = 0  comm = world  where x>0" in text


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("0+x+y-i", "x+y-i"),
        ("(-1+x+y)%X", "(x+y-1)%X"),
        ("0-y+i", "i-y"),
        ("1-x", "1-x"),
        ("2*(0+x)+1", "2*x+1"),
    ],
)
def test_sums_begin_with_a_variable(formula: str, text: str) -> None:
    assert format_parts([Part(EVERYWHERE, None, (parse_number(formula),))]) == text


sums = st.recursive(
    st.sampled_from("xyi").map(Var) | st.integers(-3, 3).map(Const),
    lambda inner: st.builds(Binary, st.sampled_from(["+", "-", "*", "%"]), inner, inner),
    max_leaves=8,
)


@given(sums, st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_printed_formulas_have_their_values(formula: Expr, x: int, y: int, i: int) -> None:
    names = {"x": x, "y": y, "i": i}
    text = format_parts([Part(EVERYWHERE, None, (formula,))])
    try:
        expected = evaluate(formula, names)
    except FormulaError:  # a remainder of 0
        return
    assert evaluate(parse_number(text), names) == expected


@pytest.mark.parametrize(
    ("formula", "text"),
    [("4", "rank xor 4"), ("1<<i1", "rank xor (1<<i1)"), ("X+1", "rank xor (X+1)"), ("Y", "rank xor Y")],
)
def test_exclusive_or(formula: str, text: str) -> None:
    assert format_parts([Part(EVERYWHERE, None, (parse_number(formula),))], "rank xor {}") == text


def test_arrays_and_vectors_have_the_notation_of_traces() -> None:
    def program(rank: Rank) -> list[IssuedCall]:
        (side,) = rank.dims
        return [
            call("Waitall", site, requests=tuple(range(n - 1, -1, -1))) for site, n in ((1, 4), (2, 2 * side))
        ]

    text = text_of(program)
    assert "requests = [3 2 1 0]" in text
    assert "requests = [(2*X)*(2*X-1 by -1)]" in text
    assert "[array" not in text


def test_vectors_are_loops_of_peers() -> None:
    two, rank_formulas = (None, (None, None, None, None)), ["7", "X", "0", "1", "Y"]
    part = Part(EVERYWHERE, two, tuple(map(parse_number, rank_formulas)))
    assert format_parts([part], "rank + {}") == "[rank + 7, X*(rank + 1, rank + Y)]"
