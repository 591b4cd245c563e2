"""What changes from iteration to iteration: whose turn it is, shrinking blocks, first and last iterations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace import extrap
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.counters import Chain, chain_of
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.vec import Vec
from support.calls import IssuedCall, call
from support.grids import Body, Rank, ends, panels, trace_of

SQUARES = [(3, 3), (4, 4), (5, 5), (6, 6), (7, 7)]


@pytest.mark.parametrize(("body", "steps"), [(panels, 1), (ends, 1), (ends, 4)])
def test_iterations_that_differ(body: Body, steps: int) -> None:
    def repeated(rank: Rank) -> list[IssuedCall]:
        return body(rank) * steps + [call("Barrier", 99, comm="world")]

    traces = [trace_of(repeated, dims, groups=True) for dims in SQUARES]
    real = trace_of(repeated, (8, 8), groups=True)
    made = extrap.extrapolate(traces, 64, (8, 8), dims_of=SQUARES)
    assert diff(made.trace, real, ["times"]) == []


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.data())
def test_counters_are_those_of_loops(turns: list[int], data: st.DataObject) -> None:
    """Against loops written out."""
    inner = data.draw(st.lists(st.integers(0, 3), min_size=sum(turns), max_size=sum(turns)))
    outer = Chain(None, Vec(len(turns)), 1)
    middle = Chain(outer, Vec(compress(turns)), len(turns))
    chain = Chain(middle, Vec(compress(inner)) if inner else Vec(0), sum(turns))
    expected, met = [], 0
    for i3, turn in enumerate(turns):
        for i2 in range(turn):
            expected += [(i3, i2, i1, inner[met] - 1 - i1) for i1 in range(inner[met])]
            met += 1
    (first, _), (second, _), (third, left) = chain.counters
    found = list(zip(first.tolist(), second.tolist(), third.tolist(), left.tolist(), strict=True))
    assert found == expected
    assert chain.runs == len(expected)


def test_periods() -> None:
    chain = chain_of([Vec(3), Vec(4), Vec(((0, 0, 2, 0),))])
    assert chain is not None
    assert [chain.period(depth) for depth in (0, 1, 2)] == [
        12,
        4,
        0,
    ]
    columns = chain.columns(1)
    assert columns["i1"].tolist() == [0, 1, 0, 1]
    assert columns["i2"].tolist() == [0, 0, 2, 2]
    assert columns["l2"].tolist() == [3, 3, 1, 1]
    assert np.array_equal(columns["i"], np.arange(4))
