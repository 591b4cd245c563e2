"""Datatypes over the stack and the heap of a program, drawn together into memory that a buffer has."""

from __future__ import annotations

import pytest

from scalatrace.trace.exchange.type_addresses import draw_together
from scalatrace.trace.model.typetree import parse

HEAP, STACK = 0x5581_C4A0_D2A0, 0x7FFD_1C9A_4E84


@pytest.mark.parametrize(
    "description",
    [
        "MPI_INT",
        "contiguous(3,MPI_INT)",
        f"hindexed([1,1],[0,{1 << 39}],MPI_INT)",  # of a file
        f"struct([1,1],[{HEAP},{HEAP + 4096}],[MPI_INT,MPI_INT])",
        "struct([],[],[])",
    ],
)
def test_what_a_buffer_can_hold_stays(description: str) -> None:
    assert draw_together(parse(description)) == (parse(description), 0)


def test_stack_and_heap() -> None:
    tree, removed = draw_together(parse(f"struct([2,3],[{STACK},{HEAP}],[MPI_INT,MPI_DOUBLE])"))
    near, first = tree.arguments[1]  # type: ignore[misc]
    assert first == HEAP
    assert HEAP + 24 <= near < HEAP + 24 + 16  # behind the three numbers
    assert near % 16 == STACK % 16
    assert removed == STACK - near


def test_from_zero() -> None:
    tree, removed = draw_together(parse(f"hindexed_block(1,[{STACK},{HEAP},{HEAP + 8}],MPI_INT)"), True)
    far, *near = tree.arguments[1]  # type: ignore[misc]
    assert near == [0, 8]
    assert 12 <= far < 28
    assert removed == STACK - HEAP - far
    one, removed = draw_together(parse(f"dup(hindexed([1],[{STACK}],MPI_INT))"), True)
    assert (one, removed) == (parse("dup(hindexed([1],[0],MPI_INT))"), 0)


def test_pieces_of_unknown_size_have_room() -> None:
    tree, _ = draw_together(parse(f"struct([1,1],[{HEAP},{STACK}],[MPI_OWN,MPI_INT])"))
    assert tree.arguments[1][1] - HEAP >= 1 << 20  # type: ignore[index,operator]
