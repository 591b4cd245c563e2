"""Piecewise regression against an exhaustive search, known data, and wrong input."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.stats.grouped_points import GroupedPoints, group_points
from scalatrace.stats.piecewise import Objective, best_partitions, fit_piecewise, segment_lines


def jumping(
    random: np.random.Generator, npoints: int, breaks: tuple[int, ...], noise: float
) -> tuple[Floats, Floats]:
    """Times with a jump at each index of `breaks`, and proportional noise."""
    x = np.sort(10 ** random.uniform(1, 7, npoints))
    piece = np.searchsorted(breaks, np.arange(npoints), "right")
    y = (200.0 + 0.1 * x) * 1.6**piece
    return x, y * np.exp(random.normal(0, noise, npoints))


def naive(points: GroupedPoints, segments: int, min_points: int) -> float:
    """The least sum of squares of all partitions."""
    n = len(points)
    best = np.inf
    for inner in combinations(range(1, n), segments - 1):
        bounds = (0, *inner, n)
        if all(b - a >= min_points for a, b in pairwise(bounds)):
            best = min(best, float(segment_lines(points, bounds, True)[2].sum()))
    return best


@pytest.mark.parametrize("objective", Objective)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from([0.0, 0.02, 0.3]))
@settings(max_examples=4, deadline=None)
def test_partitions_are_the_best_of_all(objective: Objective, seed: int, noise: float) -> None:
    random = np.random.default_rng(seed)
    points = group_points(*jumping(random, 15, (5, 9), noise), objective)
    for bounds in best_partitions(points, 3, 3, (), True):
        ours = float(segment_lines(points, bounds, True)[2].sum())
        assert ours <= naive(points, len(bounds) - 1, 3) * 1.02 + points.floor


@pytest.mark.parametrize("objective", Objective)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_lines_are_the_best_positive_ones(objective: Objective, seed: int) -> None:
    """No neighbour of the result on a fine grid is better."""
    random = np.random.default_rng(seed)
    x = np.sort(10 ** random.uniform(1, 4, 12))
    y = np.abs(random.normal(1000 - 0.05 * x * random.integers(-2, 2), 200)) + 1
    points = group_points(x, y, objective)
    slope, intercept, squares = (float(v[0]) for v in segment_lines(points, (0, len(points)), True))
    assert slope >= 0
    assert intercept >= 0
    for a in slope + np.linspace(-1, 1, 11) * (slope + 1e-3) * 0.05:
        for b in intercept + np.linspace(-1, 1, 11) * (intercept + 1) * 0.05:
            line = a * points.x + b
            if a < 0 or b < 0 or np.any(line <= 0):
                continue
            logarithmic = objective is Objective.LOGARITHMIC
            residual = np.log(points.y / line) if logarithmic else points.y - line
            assert squares <= float(np.sum(points.weight * residual**2)) * (1 + 1e-6)


@pytest.mark.parametrize("nbreaks", range(5))
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_known_breakpoints_are_found(nbreaks: int, noise: float) -> None:
    random = np.random.default_rng(nbreaks)
    breaks = tuple(30 * (i + 1) for i in range(nbreaks))
    x, y = jumping(random, 160, breaks, noise)
    order = random.permutation(len(x))
    result = fit_piecewise(x[order], y[order])
    assert np.searchsorted(x, result.breakpoints) == pytest.approx(breaks, abs=1)
    assert all(piece.slope >= 0 and piece.intercept >= 0 for piece in result.pieces)
    assert result.at(1e6) == pytest.approx((200 + 1e5) * 1.6**nbreaks, rel=0.05)
    assert all(piece.deviation == pytest.approx(noise, abs=0.01) for piece in result.pieces)


def test_constant_noise_makes_no_breakpoints() -> None:
    random = np.random.default_rng(5)
    x = np.sort(10 ** random.uniform(1, 7, 200))
    y = 1000 + x + random.normal(0, 60, 200)
    assert fit_piecewise(x, y).breakpoints == ()


def test_repeated_sizes_are_one_size_with_more_weight() -> None:
    x = [1.0, 2.0, 4.0, 8.0] * 3
    y = [x + 10 + e for e, x in zip([-1] * 4 + [0] * 4 + [1] * 4, x, strict=True)]
    [piece] = fit_piecewise(x, y, "ordinary", min_points=2).pieces
    assert (piece.slope, piece.intercept, piece.points) == pytest.approx((1, 10, 12))


def test_pieces_start_at_known_breakpoints() -> None:
    x = np.arange(1.0, 41.0)
    result = fit_piecewise(x, 10 + x, breakpoints=[3, 20.5, 1000])
    assert set(result.breakpoints) >= {3.0, 21.0}


def test_negative_slopes_where_allowed() -> None:
    x = np.arange(1.0, 21.0)
    [piece] = fit_piecewise(x, 100 - x, "ordinary", positive=False).pieces
    assert (piece.slope, piece.intercept) == pytest.approx((-1, 100))
    [flat] = fit_piecewise(x, 100 - x, "ordinary", max_breakpoints=0).pieces
    assert (flat.slope, flat.intercept) == pytest.approx((0, 89.5))


@pytest.mark.parametrize("x", [[5.0], [5.0, 5.0, 5.0], [0.0, 1.0]])
def test_few_points(x: list[float]) -> None:
    result = fit_piecewise(x, [7.0] * len(x))
    assert result.at(5.0) == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([], [], {}, "no points"),
        ([1], [1, 2], {}, "one length"),
        ([1], [float("nan")], {}, "finite"),
        ([-1], [1], {}, "x has the value -1"),
        ([1], [0], {}, "y has the value 0"),
        ([1], [1], {"objective": "cubic"}, "'cubic' is unknown; use one of ordinary"),
        ([1], [1], {"min_points": 0}, "min_points=0"),
    ],
)
def test_wrong_input(x: list[float], y: list[float], options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fit_piecewise(x, y, **options)  # type: ignore[arg-type]
