"""Datatype descriptions become trees, and damaged ones one clear error."""

from __future__ import annotations

import re

import pytest

from scalatrace.trace.model.typetree import MAX_TYPE_DEPTH, TypeTree, parse
from scalatrace.trace.values.vec import UNDEFINED

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
        ("f90_real(6,UNDEFINED,4)", TypeTree("f90_real", (6, UNDEFINED, 4))),
        ("dup(f90_integer(9,4))", TypeTree("dup", (), (TypeTree("f90_integer", (9, 4)),))),
        ("struct([],[],[])", TypeTree("struct", ((), ()))),
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
        "contiguous",
        "contiguous(MPI_INT)",
        "contiguous(2,MPI_INT,MPI_INT)",
        "vector(3,2,MPI_INT)",
        "indexed([1,2],[4],MPI_INT)",
        "indexed([1,MPI_INT],[4],MPI_INT)",
        "struct([1,2],[0,8],[MPI_INT])",
        "subarray([4,4],[2,2],[1],C,MPI_INT)",
        "darray(4,0,[4],[1],[1],[4],MPI_INT)",
        "resized(0,C,MPI_INT)",
        "opaque(24,32,MPI_INT)",
        "f90_real(15,307)",
        "f90_integer(9,C)",
        "contiguous(9223372036854775808,MPI_INT)",
        "triple(3,MPI_INT)",
        "MPI_INT(3)",
    ],
)
def test_damaged_descriptions(description: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(description))):
        parse(description)


def test_depth_is_limited() -> None:
    deepest = "dup(" * MAX_TYPE_DEPTH + "MPI_INT" + ")" * MAX_TYPE_DEPTH
    assert parse(deepest).name == "dup"
    for more in (1, 10**5):
        with pytest.raises(ValueError, match="within each other"):
            parse("dup(" * more + deepest + ")" * more)


def test_long_descriptions_are_read_in_linear_time() -> None:
    numbers = ",".join(["1"] * 200_000)
    assert len(parse(f"indexed([{numbers}],[{numbers}],MPI_INT)").arguments[0]) == 200_000
