"""A million ranks: nothing of that length is made but masks."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace import extrap
from scalatrace.trace.model.tables import Family, LargeLayout, Layout, layout_of
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.vec import Vec
from support.grids import collectors, halo, rows_and_columns, trace_of

PLANES = [(4, 4), (5, 4), (5, 5), (6, 5)]


@pytest.mark.slow
def test_one_rank_of_a_million_is_walked() -> None:
    traces = [trace_of(halo(False), dims) for dims in PLANES]
    big = extrap.extrapolate(traces, 1 << 20).trace
    peers = [c["source"] for c in big.walk(777_777) if c.op == "Irecv"][:4]
    assert peers == [777_777 - 1024, 777_777 - 1, 777_777 + 1, 777_777 + 1024]
    assert big.nnodes == traces[-1].nnodes
    corner = [c for c in big.walk(0) if c.op == "Irecv"]
    assert len(corner) == 2 * 5


def test_rows_and_columns_of_a_million() -> None:
    sides = [(2, 3), (3, 3), (3, 4), (4, 4), (5, 4)]
    traces = [trace_of(rows_and_columns, dims, 1 << 20, groups=True) for dims in sides]
    big = extrap.extrapolate(traces, 1 << 20, (512, 2048)).trace
    comms = [c.comm for c in big.walk(777_777)][:3]
    assert [comm.size for comm in comms] == [2048, 512, 1 << 20]
    assert comms[0].members[comms[0].rank] == comms[1].members[comms[1].rank] == 777_777


def test_a_collector_of_a_million() -> None:
    big = extrap.extrapolate([trace_of(collectors, (n,)) for n in (4, 5, 6, 8)], 1 << 20).trace
    sources = [c["source"] for c in islice(big.walk(0), 9) if c.op == "Recv"]
    assert sources == list(range(1, len(sources) + 1))


@given(st.lists(st.integers(-3, 6), min_size=1, max_size=40), st.integers(-4, 8))
def test_vec_find_and_part(values: list[int], wanted: int) -> None:
    vec = Vec(compress(values))
    assert vec.find(wanted) == (values.index(wanted) if wanted in values else None)
    assert vec.largest() == max(values)
    assert list(vec.part(0, len(values))) == values


@pytest.mark.parametrize(
    "terms", [((1 << 15, 1, 0),), ((128, 1, (256, 128, 0)),), ((128, 256, (256, 1, 0)),)]
)
@pytest.mark.parametrize("size", [1 << 15, 256, 128])
def test_layouts_that_are_not_expanded(terms: tuple[object, ...], size: int) -> None:
    family = Family("split", 0, Vec(size), Vec(terms))
    large, plain = layout_of(family, 1 << 15), Layout(family, 1 << 15)
    assert isinstance(large, LargeLayout)
    for rank in (0, 1, 127, 128, 255, 256, 9_999, (1 << 15) - 1):
        found, expected = large.of(rank), plain.of(rank)
        assert found is not None
        assert expected is not None
        assert (tuple(found[0]), found[1]) == (expected[0], expected[1])
