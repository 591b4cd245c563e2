"""Symbols of MPI in parameters of one size of program: null requests, any tags, roots, large counts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from scalatrace import Trace
from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.emit.arguments import possible
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.passes.whatif import scale_bytes
from scalatrace.codegen.program.tree import CallArgument
from scalatrace.formula import (
    Const,
    Item,
    Lookup,
    Select,
    Special,
    Var,
    compare,
    leaves,
    number_bounds,
    parse,
    separated,
)
from scalatrace.formula.printing.text import format_text
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.factors import Factors, Rule
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_TAG, PROC_NULL, ROOT, SPECIAL, UNDEFINED, Vec
from support.builder import DOUBLE, Builder, Comm

X = Var("x", 2)
MESSAGE = {"count": 1, "datatype": DOUBLE, "comm": Comm()}


def groups(*values: int) -> Groups:
    """A value per rank."""
    by_value: dict[int, list[int]] = {}
    for rank, value in enumerate(values):
        by_value.setdefault(value, []).append(rank)
    return Groups([(RankList(ranks), Vec(value)) for value, ranks in by_value.items()])


def text_of(trace: Trace, language: str, **options: float | bool) -> str:
    """What the benchmark does, in a language."""
    return generate(trace, language, GenerateOptions(**options)).text  # type: ignore[arg-type]


def test_waiting_for_no_request_completes_none() -> None:
    b = Builder(2)
    text = text_of(
        b.of(
            b.event("Irecv", **MESSAGE, source=groups(1, 0), tag=0),
            b.event("Wait", request=UNDEFINED),
            b.event("Send", **MESSAGE, dest=groups(1, 0), tag=0),
            b.event("Wait", request=0),
        ),
        "conceptual",
    )
    assert re.search(r"ASYNCHRONOUSLY RECEIVE.*SEND.*AWAIT", text, re.DOTALL)
    assert not re.search(r"AWAIT.*SEND", text, re.DOTALL)


def test_counts_beyond_int_of_rotating_roots() -> None:
    b = Builder(2)
    large, none = 3_000_000_000, UNDEFINED
    counts = Groups([(RankList([0]), Vec((large, none))), (RankList([1]), Vec((none, large)))])
    gather = b.event(
        "Gather", sendcount=1, sendtype=DOUBLE, recvcount=counts, recvtype=DOUBLE, root=Vec((0, 1)),
        comm=Comm(), in_place=0,
    )  # fmt: skip
    assert "Gather_c(" in text_of(b.of(b.loop(2, gather)), "c")


def test_number_bounds() -> None:
    one = Lookup((3, Special("UNDEFINED"), 7), X)
    assert number_bounds(one) == (3, 7)
    assert number_bounds(Select(compare("==", X, Const(0)), Special("UNDEFINED"), one)) == (3, 7)
    assert number_bounds(Special("UNDEFINED")) is None


def test_tables_that_end_before_a_rank() -> None:
    """The ranks behind the last one that calls have no row."""
    b = Builder(8)
    rows = b.family("split", (2, 2, 2, 2), range(8))
    columns = b.family("split", (4, 4), (0, 2, 4, 6, 1, 3, 5, 7))
    six = RankList(range(6))
    repeat = Groups([(six, Vec(2))])
    one = b.event("Bcast", repeat, count=1, datatype=DOUBLE, root=0, comm=rows)
    pairs = [(rows.family, columns.family), (columns.family, rows.family), (rows.family, rows.family)]
    by_rank = Groups([(RankList([k, k + 3]), Vec(pairs[k])) for k in range(3)])
    assert text_of(b.of(replace(one, params=(*one.params[:-1], by_rank))), "c", absolute_ranks=True)


@pytest.mark.parametrize("language", ["c", "python", "conceptual"])
def test_any_tag_where_nothing_is_received(language: str) -> None:
    """mpi4py gives MPI_PROC_NULL and MPI_ANY_TAG at a border; the other ranks keep their tags."""
    b = Builder(3)
    trace = b.of(
        b.event("Irecv", **MESSAGE, source=groups(PROC_NULL, 0, 1), tag=groups(ANY_TAG, 1, 1)),
        b.event("Send", **MESSAGE, dest=groups(1, 2, PROC_NULL), tag=1),
        b.event("Wait", request=0),
        b.event("Irecv", **MESSAGE, source=groups(PROC_NULL, 0, 1), tag=2),
        b.event("Send", **MESSAGE, dest=groups(1, 2, PROC_NULL), tag=2),
        b.event("Wait", request=0),
    )
    text = text_of(trace, language)
    if language == "conceptual":
        assert {"USING TAG 1", "USING TAG 2"} <= set(re.findall(r"USING TAG \S+", text))


def test_a_list_that_only_the_root_has_counts_as_itself() -> None:
    argument = CallArgument(
        "recvcounts", Kind.ARRAY, Select(compare("==", X, Const(0)), Const(4), Special("UNDEFINED"))
    )
    assert set(possible(argument, 9)) == {4}
    assert set(possible(CallArgument("recvcounts", Kind.ARRAY, Lookup((Special("UNDEFINED"), 3), X)), 9)) == {
        3
    }


def test_scaled_lists_keep_their_symbols() -> None:
    b = Builder(1)
    trace = b.of(b.event("Waitall", requests=(UNDEFINED, 0)), b.event("Send", **MESSAGE, dest=0, tag=0))
    arrays = [array.values for array in scale_bytes(build(trace), Factors([Rule(nbytes=3)])).arrays]
    assert (UNDEFINED * 3, 0) not in arrays


@pytest.mark.parametrize("roots", [(ROOT, PROC_NULL, 0), (ROOT, ROOT, ROOT)])
def test_roots_that_are_no_ranks(roots: tuple[int, ...]) -> None:
    b = Builder(3)
    trace = b.of(b.event("Bcast", count=1, datatype=DOUBLE, root=groups(*roots), comm=Comm()))
    with pytest.raises(GenerateError, match="root"):
        generate(trace, "conceptual")


def test_tables_with_symbols_are_read_as_they_are_written() -> None:
    table = Lookup((1, Special("PROC_NULL")), Var("x"))
    assert parse(format_text(table, SPECIAL), SPECIAL) == table
    assert parse(format_text(table), SPECIAL) == table
    assert parse("item(x,1,2)", SPECIAL) == Item((1, 2), Var("x"))


def test_a_table_of_symbols_only() -> None:
    symbols = {Special("ANY_TAG"), Special("PROC_NULL")}
    assert set(leaves(separated(Lookup(tuple(symbols), X), lambda e: e))) == symbols
