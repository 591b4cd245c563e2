"""Values without a formula: what else is fitted changes no refusal."""

from __future__ import annotations

from math import prod

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.fit.fit_trace import Fitter
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

CUBES = [(2, 2, 2), (3, 3, 3)]
SQUARES = [(3, 3), (4, 4), (5, 5), (6, 6)]


def without_formula(rank: Rank, seed: int) -> int:
    return (rank.number + 1) ** 3 * (seed + 7919) % 9973 % (prod(rank.dims) + 89)


def once(rank: Rank) -> list[IssuedCall]:
    calls = [call("Bcast", site, count=site, root=0, comm="world") for site in range(1, 5)]
    return [*calls[:2], call("Bcast", 9, count=without_formula(rank, 1), root=0, comm="world"), *calls[2:]]


def in_a_short_loop(rank: Rank) -> list[IssuedCall]:
    """Iterations of a loop that is unrolled: then the calls of two sites have formulas, those of one none."""
    calls = []
    for step in range(3):
        steps = (rank.number * (step == 1), without_formula(rank, step), step)
        calls += [call("Bcast", site, count=n, root=0, comm="world") for site, n in enumerate(steps, 1)]
    return [*calls, call("Barrier", 9, comm="world")]


def in_a_tree(rank: Rank) -> list[IssuedCall]:
    """A reduction along a binomial tree, whose stages are tried as a loop."""
    calls, number, size = once(rank), rank.number, prod(rank.dims)
    for distance in (1 << k for k in range((size - 1).bit_length())):
        peer, own = number ^ distance, {"count": without_formula(rank, 2), "tag": 0, "comm": "world"}
        if number & distance:
            return [*calls, call("Send", 20, dest=peer, **own)]
        if peer < size:
            calls.append(call("Recv", 21, source=peer, **own))
    return calls


@pytest.mark.parametrize("sizes", [CUBES, SQUARES])
@pytest.mark.parametrize("body", [once, in_a_short_loop, in_a_tree])
def test_all_events_lead_to_the_same_refusal(
    body: Body, sizes: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal() -> tuple[str, object]:
        with pytest.raises(ExtrapolationError) as caught:
            extrap.extrapolate(traces, prod(side + 4 for side in sizes[-1]), dims_of=sizes)
        return str(caught.value), caught.value.cause

    traces = [trace_of(body, dims) for dims in sizes]
    found = refusal()
    monkeypatch.setattr(Fitter, "_attempt_needed", lambda self, _, events: self._attempt_all(events))
    assert found == refusal()
