"""Calls in the first or the last iterations of loops: bodies that end early, loops that grow."""

from __future__ import annotations

import pytest

from scalatrace.extrap.extrapolate import extrapolate
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of


def _exchange(site: int, peer: int) -> IssuedCall:
    return call("Sendrecv", site, dest=peer, source=peer, sendcount=8, recvcount=8, comm="world")


def odd_even_phases(rank: Rank) -> list[IssuedCall]:
    """Transposition sort: as many phases as ranks, with the right and the left neighbours in turn."""
    r, nprocs = rank.number, rank.dims[0]
    made = [call("Bcast", 10, count=1, root=0, comm="world")]
    for phase in range(nprocs):
        peer = r + 1 if (r + phase) % 2 == 0 else r - 1
        if 0 <= peer < nprocs:
            made.append(_exchange(11 + phase % 2, peer))
    return [*made, call("Barrier", 13, comm="world")]


def phases_in_a_step(rank: Rank) -> list[IssuedCall]:
    """The same in each of four time steps."""
    return odd_even_phases(rank) * 4


def bitonic_sort(rank: Rank) -> list[IssuedCall]:
    """Merges of 2, 4, 8 ... ranks, each with partners at all smaller powers of two, the largest first."""
    exponents = range((rank.dims[0] - 1).bit_length())
    partners = [rank.number ^ (1 << k) for merge in exponents for k in reversed(range(merge + 1))]
    return [*(_exchange(20, peer) for peer in partners), call("Barrier", 21, comm="world")]


def bitonic_sort_in_a_step(rank: Rank) -> list[IssuedCall]:
    """The same in each of three time steps."""
    return bitonic_sort(rank) * 3


def _check(body: Body, sides: list[int], target: int) -> None:
    lines = [(side,) for side in sides]
    result = extrapolate([trace_of(body, dims) for dims in lines], target, (target,), dims_of=lines)
    assert diff(result.trace, trace_of(body, (target,)), ["times"]) == []


@pytest.mark.parametrize("target", [13, pytest.param(16, marks=pytest.mark.slow)])
def test_last_iteration_lacks_a_phase(target: int) -> None:
    _check(odd_even_phases, [3, 4, 5, 6, 8], target)


@pytest.mark.parametrize("body", [bitonic_sort, pytest.param(bitonic_sort_in_a_step, marks=pytest.mark.slow)])
def test_merges_have_more_and_more_stages(body: Body) -> None:
    _check(body, [2, 4, 8, 16], 64)


@pytest.mark.slow
def test_last_iteration_lacks_a_phase_in_each_step() -> None:
    _check(phases_in_a_step, [3, 4, 5, 6, 7, 8], 13)
