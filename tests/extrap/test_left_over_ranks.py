"""Ranks left over: the last one where pairs are made, those beyond a power of two, those dealt out."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of


def _sends(site: int, dest: int, tag: int = 0) -> IssuedCall:
    return call("Send", site, count=8, dest=dest, tag=tag, comm="world")


def _receives(site: int, source: int, tag: int = 0) -> IssuedCall:
    return call("Recv", site, count=8, source=source, tag=tag, comm="world")


def halves(rank: Rank) -> list[IssuedCall]:
    """The first half plays ping-pong with the second one; an odd rank is idle between the barriers."""
    (size,), own = rank.dims, rank.number
    half, calls = size // 2, [call("Barrier", 1, comm="world")]
    if own < half:
        calls += [_sends(2, own + half), _receives(3, own + half)] * 3
    elif own < 2 * half:
        calls += [_receives(4, own - half), _sends(5, own - half)] * 3
    return calls * 4


def neighbouring_pairs(rank: Rank) -> list[IssuedCall]:
    """Ranks of even numbers send to the next one, if there is one."""
    (size,), own = rank.dims, rank.number
    if own % 2:
        return [_receives(1, own - 1)] * 3
    return [_sends(2, own + 1)] * 3 if own + 1 < size else []


def folded_butterfly(rank: Rank) -> list[IssuedCall]:
    """Recursive doubling; ranks beyond the largest power of two leave it to those that are so much lower."""
    (size,), own, calls = rank.dims, rank.number, []
    power = 1 << (size.bit_length() - 1)
    if own >= power:
        return [_sends(1, own - power), _receives(7, own - power)]
    if own < size - power:
        calls.append(_receives(2, own + power))
    for k in range(power.bit_length() - 1):
        counts = {"sendcount": 8, "recvcount": 8, "sendtag": 0, "recvtag": 0}
        calls.append(call("Sendrecv", 3, dest=own ^ 1 << k, source=own ^ 1 << k, comm="world", **counts))
    if own < size - power:
        calls.append(_sends(4, own + power))
    return calls


def dealt_out(rank: Rank) -> list[IssuedCall]:
    """Ranks are dealt out to three leaders, which receive from each of theirs; tags tell them apart."""
    (size,), own = rank.dims, rank.number
    if own >= 3:
        return [_sends(1, own % 3, own % 3)]
    return [_receives(2, other, own) for other in range(own + 3, size, 3)]


CASES = [
    (halves, [3, 4, 5, 6, 8]),
    (neighbouring_pairs, [3, 4, 5, 6, 8]),
    (folded_butterfly, [3, 4, 5, 6, 7, 8, 9]),
    (dealt_out, [6, 7, 8, 9, 10, 12]),
]


@pytest.mark.parametrize("target", [11, 16, 21])
@pytest.mark.parametrize(("body", "sizes"), CASES)
def test_ranks_left_over(body: Body, sizes: list[int], target: int) -> None:
    made = extrap.extrapolate([trace_of(body, (size,), 1) for size in sizes], target)
    assert diff(made.trace, trace_of(body, (target,), 1), ["times"]) == []
