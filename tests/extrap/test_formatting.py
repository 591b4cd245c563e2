"""Symbolic traces as text: datatypes and names of files in MPI's terms."""

from __future__ import annotations

from scalatrace.extrap import model_of
from scalatrace.extrap.formatting import lines
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
