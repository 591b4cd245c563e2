"""Symbolic traces as text: datatypes and names of files in MPI's terms."""

from __future__ import annotations

import pytest

from scalatrace.extrap import model_of
from scalatrace.extrap.formatting import lines
from scalatrace.formula import parse_condition, parse_number
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
    assert "requests = [6*(5 by -1)]" in text
    assert "count = [6*(0 by 1)]" in text
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
