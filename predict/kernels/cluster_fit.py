"""Fit the generative model of a cluster by matching moments (Cornebize, section 5.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.predict.kernels.cluster import Cluster, Matrix, NodeGroup
from scalatrace.stats.partitions import group_values

__all__ = ["NodeDay", "fit_cluster"]

MAX_GROUPS = 3
MIN_NODES = 2
"""Nodes of a group."""
MIN_FOR_COVARIANCE = 5
"""Nodes from which a group has a covariance of its own; smaller ones share that of all groups."""


@dataclass(frozen=True)
class NodeDay:
    """The parameters (a, b, c) of a node, fitted on one day."""

    node: str
    day: str
    parameters: tuple[float, float, float]


def fit_cluster(
    observed: Sequence[NodeDay], max_groups: int = MAX_GROUPS, name: str = "fitted", unit: str = ""
) -> Cluster:
    """Fit a cluster: day from the days of each node, then groups and their covariances from the nodes.

    A node's mean over D days varies by spatial + day / D, so day / D is taken off. One day per node makes
    `day` 0, and its variation part of `spatial`.

    Raises:
        UsageError: there are fewer than two nodes.
    """
    names = sorted({each.node for each in observed})
    if len(names) < MIN_NODES:
        raise UsageError(f"a cluster is fitted to 2 nodes or more; observed: {', '.join(names) or 'none'}")
    days = [np.array([each.parameters for each in observed if each.node == node]) for node in names]
    means = np.array([node.mean(axis=0) for node in days])
    day, per_node = _within(days)
    groups = group_values(means[:, 0], max_groups, MIN_NODES)
    pooled = _covariance([means[groups == g] for g in range(groups.max() + 1)], day * per_node)
    fitted = []
    for g in range(groups.max() + 1):
        members = means[groups == g]
        own = _covariance([members], day * per_node) if len(members) >= MIN_FOR_COVARIANCE else pooled
        fitted.append(NodeGroup(float(len(members)), tuple(map(float, members.mean(axis=0))), _rows(own)))
    return Cluster(tuple(fitted), _rows(day), name, f"fitted to {len(names)} nodes", unit)


def _within(days: Sequence[Floats]) -> tuple[Floats, float]:
    """Return the covariance within nodes, pooled, and the mean of 1 / days over the nodes."""
    freedom = sum(len(node) - 1 for node in days)
    deviations = np.concatenate([node - node.mean(axis=0) for node in days])
    day = deviations.T @ deviations / freedom if freedom else np.zeros((days[0].shape[1],) * 2)
    return day, float(np.mean([1 / len(node) for node in days]))


def _covariance(groups: Sequence[Floats], less: Floats) -> Floats:
    """Return the covariance within groups minus a part of it, without negative eigenvalues."""
    freedom = max(1, sum(len(members) - 1 for members in groups))
    deviations = np.concatenate([members - members.mean(axis=0) for members in groups])
    matrix = deviations.T @ deviations / freedom - less
    # Scaled, since the parameters differ by many orders of magnitude.
    scale = np.sqrt(np.maximum(np.diag(matrix + less), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(matrix / scale[:, None] / scale)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T * scale[:, None] * scale)


def _rows(matrix: Floats) -> Matrix:
    return tuple(tuple(float(value) for value in row) for row in (matrix + matrix.T) / 2)
