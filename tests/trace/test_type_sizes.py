"""Sizes of datatypes by their descriptions."""

from __future__ import annotations

import pytest

from scalatrace.trace.exchange.type_sizes import member_sizes
from scalatrace.trace.model.tables import Datatype


@pytest.mark.parametrize(
    ("member", "nbytes"),
    [
        ("MPI_DOUBLE", 8),
        ("contiguous(3,MPI_INT)", 12),
        ("vector(2,3,5,MPI_SHORT)", 12),
        ("hvector(2,3,50,MPI_CHAR)", 6),
        ("indexed([1,2],[0,4],MPI_INT)", 12),
        ("indexed_block(2,[0,4,8],MPI_INT)", 24),
        ("struct([1,2],[0,8],[MPI_INT,MPI_DOUBLE])", 20),
        ("subarray([4,4],[2,3],[0,0],C,MPI_BYTE)", 6),
        ("resized(0,64,dup(MPI_FLOAT))", 4),
        ("opaque(5,8)", 5),
        ("contiguous(3,f90_complex(15,UNDEFINED,16))", 48),
    ],
)
def test_sizes(member: str, nbytes: int) -> None:
    struct = Datatype(f"struct([1,1],[0,0],[{member},MPI_BYTE])", nbytes + 1, 0)
    assert member_sizes(struct) == (nbytes, 1)


def test_unknown_types_have_the_mean() -> None:
    assert member_sizes(Datatype("struct([1,1],[0,0],[MPI_STRANGE,MPI_BYTE])", 10, 10)) == (5, 5)
