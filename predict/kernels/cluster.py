"""Generative model of the nodes of a cluster (Cornebize, section 5.2.2): nodes, days, single calls.

A kernel with work S takes a S + b on the average, with a deviation c S (5.2). On the node p and day d

    mu_pd = (a, b, c) ~ N(mu_p, day)           from day to day (5.4)
    mu_p              ~ N(mu_g, spatial_g)     from node to node (5.5)
    g                 ~ weights ~ Dirichlet    normal or slow nodes, if there are groups (Figure 5.5)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import UsageError

__all__ = ["PARAMETERS", "Cluster", "NodeGroup", "Nodes"]

PARAMETERS = ("per_unit_ns", "constant_ns", "deviation_per_unit_ns")
"""a, b and c."""
MAX_REDRAWS = 100
_SMALLEST_EIGENVALUE = -1e-9
Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class NodeGroup:
    """Nodes of one behaviour.

    Attributes:
        nodes: observed nodes; concentration of the Dirichlet distribution of the weights.
        mean: mu_g.
        spatial: covariance of the means of its nodes.
    """

    nodes: float
    mean: tuple[float, ...]
    spatial: Matrix


@dataclass(frozen=True)
class Nodes:
    """Sampled nodes.

    Attributes:
        group: the group of each node.
        parameters: (a, b, c) of each node on the sampled day; shape (nodes, 3).
        factor: duration of a computation relative to the mean node of the largest group.
        noise: standard deviation of a call's duration over its mean, c / a.
    """

    group: Ints
    parameters: Floats
    factor: Floats
    noise: Floats


@dataclass(frozen=True)
class Cluster:
    """A cluster of any size.

    Attributes:
        groups: one or more.
        day: covariance from day to day, of all nodes.
        unit: what S counts ("m*n*k").
    """

    groups: tuple[NodeGroup, ...]
    day: Matrix
    name: str = "unnamed"
    description: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.groups:
            raise UsageError("a cluster needs one group of nodes or more")
        for i, group in enumerate(self.groups):
            if not group.nodes > 0:
                raise UsageError(f"groups[{i}].nodes is {group.nodes}; it must be above 0")
            if len(group.mean) != len(PARAMETERS) or not group.mean[0] > 0:
                raise UsageError(f"groups[{i}].mean must have {len(PARAMETERS)} numbers, the first above 0")
            _check_covariance(group.spatial, f"groups[{i}].spatial")
        _check_covariance(self.day, "day")

    def sample(self, nodes: int, seed: int = 0) -> Nodes:
        """Sample a cluster on one day; the same for the same seed.

        Raises:
            UsageError: `nodes` is not positive, or nearly all draws are negative durations.
        """
        if nodes < 1:
            raise UsageError(f"{nodes} nodes: sample 1 or more")
        random = np.random.default_rng(seed)
        weights = random.dirichlet([group.nodes for group in self.groups])
        members = random.choice(len(self.groups), nodes, p=weights)
        parameters = np.empty((nodes, len(PARAMETERS)))
        for i, group in enumerate(self.groups):
            here = members == i
            parameters[here] = self._drawn(random, group, int(here.sum()))
        reference = max(self.groups, key=lambda group: group.nodes).mean[0]
        factor, noise = parameters[:, 0] / reference, parameters[:, 2] / parameters[:, 0]
        return Nodes(members.astype(np.int64), parameters, factor, noise)

    def _drawn(self, random: np.random.Generator, group: NodeGroup, count: int) -> Floats:
        """Draw parameters; those with a rate of 0 or less, or a negative deviation, are drawn again."""
        result = np.empty((count, len(PARAMETERS)))
        missing = np.arange(count)
        for _ in range(MAX_REDRAWS):
            if not len(missing):
                return result
            means = random.multivariate_normal(group.mean, group.spatial, len(missing), method="eigh")
            days = random.multivariate_normal(
                np.zeros(len(PARAMETERS)), self.day, len(missing), method="eigh"
            )
            result[missing] = means + days
            wrong = (result[missing, 0] <= 0) | (result[missing, 2] < 0)
            missing = missing[wrong]
        raise UsageError(
            f"the covariances are too large for the mean {group.mean[0]:g} ns: nearly all nodes drawn have a "
            "negative duration"
        )


def _check_covariance(matrix: Matrix, where: str) -> None:
    array: NDArray[np.float64] = np.array(matrix, dtype=np.float64) if _square(matrix) else np.empty(0)
    if not len(array) or not np.allclose(array, array.T, rtol=1e-6, atol=0):
        n = len(PARAMETERS)
        raise UsageError(f"{where} must be a symmetric matrix of {n} x {n} numbers")
    deviations = np.sqrt(np.abs(np.diag(array)))
    scaled = (
        array / np.where(deviations > 0, deviations, 1)[:, None] / np.where(deviations > 0, deviations, 1)
    )
    if not np.all(np.linalg.eigvalsh(scaled) >= _SMALLEST_EIGENVALUE):
        raise UsageError(f"{where} is no covariance: it has a negative eigenvalue")


def _square(matrix: Matrix) -> bool:
    return len(matrix) == len(PARAMETERS) and all(len(row) == len(PARAMETERS) for row in matrix)
