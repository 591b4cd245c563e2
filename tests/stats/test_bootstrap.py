"""Bootstraps: seeded, near the truth, and holding it about as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from scalatrace.errors import UsageError
from scalatrace.stats.bootstrap import inter_node, intra_node, non_parametric, pooled
from scalatrace.stats.extreme_values import Gev

TAIL = 1e5


def times(seed: int, intervals: int = 100) -> np.ndarray:
    """4 nodes of 4 ranks with exponential tails."""
    return 1e6 + TAIL * np.random.default_rng(seed).standard_exponential((intervals, 4, 4))


def truth(nprocs: int) -> float:
    return 1e6 + TAIL * sum(1 / i for i in range(1, nprocs + 1))


def test_replicas_are_counted_and_seeded() -> None:
    data = times(1)
    inter, intra = inter_node(data, 16), intra_node(data, 64)
    assert (inter.replicas, intra.replicas) == (4 * 50, 4 * 50)
    assert inter == inter_node(data, 16)
    assert inter != inter_node(data, 16, seed=1)
    assert inter.low < inter.median < inter.high


@pytest.mark.parametrize("fit", ["pwm", "mom"])
def test_both_ways_meet_the_truth(fit: str) -> None:
    """64 ranks, from 16: as 16 nodes, and as 64 ranks."""
    data = times(2, 400)
    for interval in (inter_node(data, 16, fit), intra_node(data, 64, fit)):
        assert truth(64) in interval
        assert interval.median == pytest.approx(truth(64), rel=0.05)


def test_pooled_holds_about_as_often_as_it_says() -> None:
    gumbel = Gev(0.0, 1e6, 5e4)
    expected = gumbel.maximum_of(4).mean
    held = sum(
        expected in pooled(gumbel.sample(np.random.default_rng(i), 100), 4, seed=i, replicas=100)
        for i in range(60)
    )
    assert 50 <= held <= 60  # 0.95 of 60, and three standard deviations


def test_means_of_later_runs_are_inside_about_as_often_as_said() -> None:
    """The maxima are a sample, and a later run of as many intervals is another one."""
    gumbel, intervals, trials = Gev(0.0, 1e6, 5e4), 60, 200
    inside = np.zeros(3)
    for seed in range(trials):
        random = np.random.default_rng(seed)
        maxima = gumbel.sample(random, intervals)
        later = gumbel.maximum_of(2).sample(random, intervals).mean()
        kinds = (
            pooled(maxima, 2, seed=seed, replicas=100, intervals=intervals),
            non_parametric(maxima, 2, seed=seed, replicas=100, intervals=intervals),
            pooled(maxima, 2, seed=seed, replicas=100),
        )
        inside += [later in interval for interval in kinds]
    fewest = trials * 0.95 - 3.5 * (trials * 0.95 * 0.05) ** 0.5
    assert (inside[:2] >= fewest).all()
    assert inside[2] < fewest, "the interval of the expected maximum is narrower than that of a later run"


def test_non_parametric_cannot_exceed_what_was_seen() -> None:
    maxima = times(4).max(axis=(1, 2))
    one, many = non_parametric(maxima, 1), non_parametric(maxima, 64)
    assert one.low >= maxima.min()
    assert one.median < many.median <= many.high <= maxima.max()
    mean = non_parametric(maxima, 4, intervals=50)
    assert mean.high - mean.low < (one.high - one.low) / 2


def test_refuses() -> None:
    with pytest.raises(UsageError, match="interval, node and rank"):
        inter_node([[1.0, 2.0]], 4)
    with pytest.raises(UsageError, match="factor"):
        non_parametric([1.0], 0)
