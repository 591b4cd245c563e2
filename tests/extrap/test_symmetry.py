"""Formulas of one dimension serve another; problem sizes that no parameter gives; arguments that grow."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import product

import pytest

from scalatrace import Trace, extrap
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, halo, trace_of

STAIRS = [(3, 3), (4, 3), (4, 4), (5, 4)]
"""Three sizes of the first dimension, two of the second."""

POINTS = 120


def faces(scale: Callable[[int], int]) -> Callable[[Rank], list[IssuedCall]]:
    """A program that sends a border of its block to the lower neighbour along each dimension."""

    def body(rank: Rank) -> list[IssuedCall]:
        calls = []
        for line, (step, across) in enumerate((((-1, 0), 1), ((0, -1), 0))):
            for sign, kind in ((1, "Send"), (-1, "Recv")):
                peer = rank.neighbour([sign * one for one in step], wrap=False)
                if peer is not None:
                    name = "dest" if kind == "Send" else "source"
                    given = {"count": scale(rank.dims[across]), name: peer, "tag": line}
                    calls.append(call(kind, 10 * line + sign, comm="world", **given))
        return calls

    return body


def stairs(body: Callable[[Rank], list[IssuedCall]], n: int = 0) -> list[Trace]:
    return [trace_of(body, dims, n) for dims in STAIRS]


@pytest.mark.parametrize("n", [0, pytest.param(POINTS, marks=pytest.mark.slow)])
def test_two_sizes_confirm_the_formula_of_another_dimension(n: int) -> None:
    """With n as a parameter, and without: the sizes of the traces divide it."""
    body = faces(lambda side: 20 * (POINTS // side) + 100)
    params = {"n": n} if n else None
    given, sides = stairs(body, n), list(STAIRS)
    if not n:  # blocks of another size would do, until a fourth side excludes them
        with pytest.raises(ExtrapolationError, match=r"next: add a trace of 18 ranks \(6x3\)"):
            extrap.extrapolate(given, 36, (6, 6), dims_of=sides)
        sides.append((6, 3))
        given.append(trace_of(body, (6, 3)))
    made = extrap.extrapolate(given, 36, (6, 6), params=params, dims_of=sides)
    assert diff(made.trace, trace_of(body, (6, 6), n), ["times"]) == []


def test_formulas_of_dimensions_that_differ_are_not_shared() -> None:
    body = faces(lambda side: {3: 900, 4: 700, 5: 580}[side])

    def other(rank: Rank) -> list[IssuedCall]:
        return [*body(rank), call("Allreduce", 30, count={3: 17, 4: 1234}[rank.dims[1]], comm="world")]

    with pytest.raises(ExtrapolationError, match="next: add a trace of 25 ranks"):
        extrap.extrapolate(stairs(other), 36, (6, 6), dims_of=STAIRS)


def test_hidden_size_that_the_target_does_not_divide() -> None:
    """The traces show that 60 divides the size, but not whether 7 does."""
    body = faces(lambda side: 20 * (POINTS // side) + 100)
    with pytest.raises(ExtrapolationError, match="the traces cannot tell"):
        extrap.extrapolate(stairs(body), 42, (7, 6), dims_of=STAIRS)


def weak(dims: tuple[int, ...], text: str) -> Trace:
    trace = trace_of(halo(False), dims)
    trace.meta["program"] = text.format(x=5 * dims[0], y=8 * dims[1], p=3 * dims[0] * dims[1])
    return trace


def test_arguments_of_weak_scaling_follow_from_sizes() -> None:
    traces = [weak(dims, "app -x {x} -y {y} --atoms={p}") for dims in STAIRS]
    made = extrap.extrapolate(traces, 36, (6, 6), dims_of=STAIRS)
    assert "arguments that differ are taken to grow with it: 5*X, 8*Y, 3*P" in made.evidence


def test_arguments_that_are_no_multiple() -> None:
    traces = [weak(dims, "app {x}") for dims in STAIRS]
    traces[-1].meta["program"] = "app 200"
    with pytest.raises(InputError, match=r"arguments: argument 1 \(9 ranks: 15; 12 ranks: 20; 16 ranks: 20"):
        extrap.extrapolate(traces, 36, (6, 6), dims_of=STAIRS)


def test_targets_without_formula_are_refused_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("scalatrace.extrap.extrapolate")
    monkeypatch.setattr(module, "fit", lambda *_: pytest.fail("formulas were sought"))
    traces = [trace_of(halo(False), dims) for dims in [(4, 3), (5, 3), (6, 3)]]
    with pytest.raises(InputError, match="all traces have Y = 3, a grid of 6x6 has 6"):
        extrap.extrapolate(traces, 36, (6, 6), dims_of=[(4, 3), (5, 3), (6, 3)])


BOXES = [(2, 2, 2), (2, 3, 2), (3, 3, 2), (3, 3, 3)]


def box(rank: Rank) -> list[IssuedCall]:
    """Each call site goes through up to 26 neighbours; the count is that of a face, an edge or a corner."""
    found = []
    for step in product((-1, 0, 1), repeat=3):
        peer = rank.neighbour(step, wrap=False)
        if peer is not None and any(step):
            found.append((peer, 16 ** (3 - sum(map(abs, step)))))
    calls = [call("Irecv", 10, count=n, source=p, tag=9, comm="world") for p, n in found]
    calls += [call("Send", 11, count=n, dest=p, tag=9, comm="world") for p, n in found]
    calls.append(call("Waitall", 12, requests=tuple(range(len(found) - 1, -1, -1))))
    return calls * 3


def test_counts_of_faces_edges_and_corners_in_one_call_site() -> None:
    made = extrap.extrapolate([trace_of(box, dims) for dims in BOXES], 36, (3, 3, 4), dims_of=BOXES)
    assert diff(made.trace, trace_of(box, (3, 3, 4)), ["times"]) == []


def test_cubes_are_cubes_whichever_sides_of_the_traces_are_longer() -> None:
    traces = [trace_of(halo(False), dims) for dims in [(2, 3, 2), (3, 3, 2), (3, 4, 3), (3, 3, 3)]]
    assert extrap.extrapolate(traces, 64).grid.dims == (4, 4, 4)
