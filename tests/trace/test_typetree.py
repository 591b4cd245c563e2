"""Datatype descriptions become trees, and damaged ones one clear error."""

from __future__ import annotations

import pytest

from scalatrace.errors import FormatError
from scalatrace.trace.model.typetree import TypeTree, parse

DOUBLE, INT = TypeTree("MPI_DOUBLE"), TypeTree("MPI_INT")


@pytest.mark.parametrize(
    ("description", "tree"),
    [
        ("MPI_DOUBLE", DOUBLE),
        ("MPI_2INT", TypeTree("MPI_2INT")),
        ("vector(3,2,-8,MPI_DOUBLE)", TypeTree("vector", (3, 2, -8), (DOUBLE,))),
        ("indexed([1,2],[4,0],MPI_INT)", TypeTree("indexed", ((1, 2), (4, 0)), (INT,))),
        (
            "struct([1,2],[0,8],[MPI_INT,dup(MPI_DOUBLE)])",
            TypeTree("struct", ((1, 2), (0, 8)), (INT, TypeTree("dup", (), (DOUBLE,)))),
        ),
        (
            "subarray([4,4],[2,2],[1,1],Fortran,MPI_INT)",
            TypeTree("subarray", ((4, 4), (2, 2), (1, 1), "Fortran"), (INT,)),
        ),
        ("resized(0, 16, MPI_INT)", TypeTree("resized", (0, 16), (INT,))),
        ("opaque(24,32)", TypeTree("opaque", (24, 32))),
    ],
)
def test_descriptions(description: str, tree: TypeTree) -> None:
    assert parse(description) == tree


@pytest.mark.parametrize(
    "description",
    [
        "",
        "vector(3,2",
        "vector(3,2,8,MPI_DOUBLE))",
        "vector(3;2)",
        "[1]",
        "dup()x",
        "indexed([1,],MPI_INT",
        "3",
    ],
)
def test_damaged_descriptions(description: str) -> None:
    with pytest.raises(FormatError) as error:
        parse(description)
    assert repr(description) in str(error.value)
