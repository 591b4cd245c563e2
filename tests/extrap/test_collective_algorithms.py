"""Collective algorithms of point-to-point messages, on powers of two and other numbers of ranks."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.trace.query.diff import diff
from support.collective_algorithms import ALGORITHMS
from support.grids import trace_of

POWERS, OTHERS = (4, 8, 16), [(4, 6, 9, 12), (3, 5, 6, 8, 12)]


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("sizes", OTHERS)
@pytest.mark.parametrize("target", [pytest.param(64, marks=pytest.mark.slow), 100])
def test_any_number_of_ranks_follows(name: str, sizes: tuple[int, ...], target: int) -> None:
    body = ALGORITHMS[name]
    made = extrap.extrapolate([trace_of(body, (size,)) for size in sizes], target)
    assert diff(made.trace, trace_of(body, (target,)), ["times"]) == []


@pytest.mark.parametrize("name", ALGORITHMS)
def test_powers_of_two_lead_to_powers_of_two(name: str) -> None:
    body = ALGORITHMS[name]
    traces = [trace_of(body, (size,)) for size in POWERS]
    made = extrap.extrapolate(traces, 64)
    assert diff(made.trace, trace_of(body, (64,)), ["times"]) == []


@pytest.mark.parametrize("name", ["dissemination", "bruck", "binomial_gather", "recursive_doubling"])
def test_powers_of_two_do_not_show_what_others_do(name: str) -> None:
    traces = [trace_of(ALGORITHMS[name], (size,)) for size in POWERS]
    with pytest.raises(ExtrapolationError, match=r"the traces cannot tell|do not fit together"):
        extrap.extrapolate(traces, 100)
