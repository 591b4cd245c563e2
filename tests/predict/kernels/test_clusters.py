"""Clusters: moments of samples, fits of sampled clusters, files, wrong input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scalatrace.errors import FormatError, UsageError
from scalatrace.predict.kernels import Cluster, NodeDay, NodeGroup, fit_cluster, read_cluster, write_cluster

MEAN = (0.03, 400.0, 0.001)
SPATIAL = ((2.5e-7, 5e-4, 0.0), (5e-4, 100.0, 0.0), (0.0, 0.0, 1e-9))
DAY = ((4e-8, 0.0, 2e-9), (0.0, 25.0, 0.0), (2e-9, 0.0, 4e-10))
NORMAL = NodeGroup(28, MEAN, SPATIAL)
SLOW = NodeGroup(4, (0.036, 500.0, 0.002), SPATIAL)
ONE, TWO = Cluster((NORMAL,), DAY), Cluster((NORMAL, SLOW), DAY)


def observed(cluster: Cluster, nodes: int, days: int, seed: int) -> list[NodeDay]:
    """Nodes of a cluster over several days."""
    still = tuple((0.0, 0.0, 0.0) for _ in range(3))
    means = replace(cluster, day=still).sample(nodes, seed).parameters
    random = np.random.default_rng(seed)
    return [
        NodeDay(f"n{i}", f"d{d}", tuple(mean + random.multivariate_normal(np.zeros(3), cluster.day)))
        for i, mean in enumerate(means)
        for d in range(days)
    ]


def test_samples_have_the_moments() -> None:
    nodes = ONE.sample(40_000, 1)
    assert nodes.parameters.mean(axis=0) == pytest.approx(MEAN, rel=0.01)
    total = np.cov(nodes.parameters.T)
    expected = np.array(SPATIAL) + np.array(DAY)
    assert np.diag(total) == pytest.approx(np.diag(expected), rel=0.05)
    assert total[0, 1] == pytest.approx(expected[0, 1], rel=0.15)
    assert nodes.factor.mean() == pytest.approx(1, abs=0.001)
    assert nodes.noise.mean() == pytest.approx(1 / 30, rel=0.02)


def test_samples_are_repeatable_and_mixed() -> None:
    first, again, other = (TWO.sample(500, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.factor, again.factor)
    assert not np.array_equal(first.factor, other.factor)
    slow = first.group == 1
    assert 0.01 < slow.mean() < 0.4
    assert first.factor[slow].mean() == pytest.approx(1.2, abs=0.02)
    assert first.factor[~slow].mean() == pytest.approx(1.0, abs=0.01)
    shares = [float((TWO.sample(200, seed).group == 1).mean()) for seed in range(60)]
    assert np.mean(shares) == pytest.approx(4 / 32, abs=0.03)
    assert np.std(shares) > 0.04  # the weights are drawn, too: more than binomial


def test_moments_are_matched() -> None:
    found = fit_cluster(observed(ONE, 400, 6, 3))
    assert len(found.groups) == 1
    assert found.groups[0].mean == pytest.approx(MEAN, rel=0.02)
    assert np.diag(found.day) == pytest.approx(np.diag(DAY), rel=0.1)
    assert np.diag(found.groups[0].spatial) == pytest.approx(np.diag(SPATIAL), rel=0.2)
    assert found.day[0][2] == pytest.approx(DAY[0][2], rel=0.25)


@pytest.mark.parametrize("seed", range(10))
def test_slow_nodes_are_a_group(seed: int) -> None:
    normal, slow = observed(ONE, 28, 10, seed), observed(Cluster((SLOW,), DAY), 4, 10, seed + 100)
    slow = [replace(each, node=f"slow-{each.node}") for each in slow]
    found = fit_cluster(normal + slow)
    assert [group.nodes for group in found.groups] == [28, 4]
    assert [group.mean[0] for group in found.groups] == pytest.approx([0.03, 0.036], rel=0.02)


def test_one_group_is_not_split() -> None:
    """In 50 trials, at most 3 times."""
    split = sum(len(fit_cluster(observed(ONE, 32, 5, seed)).groups) > 1 for seed in range(50))
    assert split <= 3


def test_one_day_has_no_day_to_day_variation() -> None:
    found = fit_cluster(observed(ONE, 20, 1, 1))
    assert not np.any(found.day)
    assert found.sample(10, 1).factor.shape == (10,)


def test_files(tmp_path: Path) -> None:
    cluster = replace(fit_cluster(observed(TWO, 30, 3, 1)), name="dahu", unit="m*n*k")
    write_cluster(tmp_path / "c.toml", cluster)
    assert read_cluster(tmp_path / "c.toml") == cluster


TEXT = """format = 1
day = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
[[groups]]
nodes = 3
mean = [1, 0, 0]
spatial = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 2", "format is 2"),
        ("nodes = 3", "nodes = 0", r"groups\[0\].nodes is 0"),
        ("mean = [1, 0, 0]", "mean = [1, 0]", "must have 3 numbers"),
        ("mean = [1, 0, 0]", 'mean = [1, 0, "x"]', r"groups\[0\].mean must consist of numbers"),
        ("spatial = [[1, 0, 0]", "spatial = [[1, 5, 0]", "symmetric matrix of 3 x 3"),
        ("spatial = [[1, 0, 0]", "spatial = [[-1, 0, 0]", "negative eigenvalue"),
        ("nodes = 3", "nodes = 3\nspeed = 1", "speed: unknown key"),
        ("[[groups]]\n", "[groups]\n", "groups is .*; expected array"),
        ("day = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]", "", "day is missing"),
    ],
)
def test_wrong_files(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(TEXT.replace(old, new))
    with pytest.raises(FormatError, match=message):
        read_cluster(tmp_path / "c.toml")


def test_wrong_samples() -> None:
    with pytest.raises(UsageError, match="0 nodes"):
        ONE.sample(0)
    wide = NodeGroup(1, (1e-3, 0.0, 1.0), ((1e12, 0, 0), (0, 0, 0), (0, 0, 1e12)))
    with pytest.raises(UsageError, match="2 nodes or more; observed: a"):
        fit_cluster([NodeDay("a", "1", (1, 0, 0))])
    assert np.all(Cluster((wide,), DAY).sample(50).factor > 0)  # drawn again
    negative = NodeGroup(1, (1.0, 0.0, -1e6), ((0, 0, 0), (0, 0, 0), (0, 0, 1)))
    with pytest.raises(UsageError, match="negative"):
        Cluster((negative,), DAY).sample(5)
