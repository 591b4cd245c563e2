"""Generative model of the nodes of a cluster (Cornebize, section 5.2.2): nodes, days, single calls.

A kernel with work S takes a S + b on the average, with a deviation c S (5.2). On the node p and day d

    mu_pd = (a, b, c) ~ N(mu_p, day)           from day to day (5.4)
    mu_p              ~ N(mu_g, spatial_g)     from node to node (5.5)
    g                 ~ weights ~ Dirichlet    normal or slow nodes, if there are groups (Figure 5.5)

Files of clusters are TOML:

format = 1
name = "dahu"
unit = "m*n*k"
day = [[1e-8, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 1e-9]]

[[groups]]
nodes = 28
mean = [0.0321, 410.0, 0.0009]
spatial = [[1e-7, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 0.0, 1e-9]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tomlkit
from numpy.typing import NDArray

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import FormatError, UsageError
from scalatrace.files import write_file
from scalatrace.predict.kernels.toml_tables import check_table, read_document
from scalatrace.stats.partitions import group_values

__all__ = [
    "PARAMETERS", "Cluster", "NodeDay", "NodeGroup", "SampledNodes", "fit_cluster", "read_cluster",
    "write_cluster",
]  # fmt: skip

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
class SampledNodes:
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

    def sample(self, nodes: int, seed: int = 0) -> SampledNodes:
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
            is_member = members == i
            parameters[is_member] = self._drawn(random, group, int(is_member.sum()))
        reference = max(self.groups, key=lambda group: group.nodes).mean[0]
        factor, noise = parameters[:, 0] / reference, parameters[:, 2] / parameters[:, 0]
        return SampledNodes(members.astype(np.int64), parameters, factor, noise)

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


_MAX_GROUPS = 3
_MIN_NODES = 2
"""Nodes of a group."""
_MIN_FOR_COVARIANCE = 5
"""Nodes from which a group has a covariance of its own; smaller ones share that of all groups."""


@dataclass(frozen=True)
class NodeDay:
    """The parameters (a, b, c) of a node, fitted on one day."""

    node: str
    day: str
    parameters: tuple[float, float, float]


def fit_cluster(observed: Sequence[NodeDay], unit: str = "") -> Cluster:
    """Fit a cluster: day from the days of each node, then groups and their covariances from the nodes.

    A node's mean over D days varies by spatial + day / D, so day / D is taken off. One day per node makes
    `day` 0, and its variation part of `spatial`.

    Raises:
        UsageError: there are fewer than two nodes.
    """
    names = sorted({fit.node for fit in observed})
    if len(names) < _MIN_NODES:
        raise UsageError(f"a cluster is fitted to 2 nodes or more; observed: {', '.join(names) or 'none'}")
    days = [np.array([fit.parameters for fit in observed if fit.node == node]) for node in names]
    means = np.array([node.mean(axis=0) for node in days])
    day, per_node = _within(days)
    groups = group_values(means[:, 0], _MAX_GROUPS, _MIN_NODES)
    pooled = _covariance([means[groups == g] for g in range(groups.max() + 1)], day * per_node)
    fitted = []
    for g in range(groups.max() + 1):
        members = means[groups == g]
        covariance = _covariance([members], day * per_node) if len(members) >= _MIN_FOR_COVARIANCE else pooled
        fitted.append(
            NodeGroup(float(len(members)), tuple(map(float, members.mean(axis=0))), _rows(covariance))
        )
    return Cluster(tuple(fitted), _rows(day), "fitted", f"fitted to {len(names)} nodes", unit)


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


_FORMAT = 1


def read_cluster(path: str | Path) -> Cluster:
    """Read a cluster.

    Raises:
        FormatError: the file cannot be read, or a key or value is wrong; names it.
    """
    raw = read_document(path, "a file of a cluster", _FORMAT)
    types = {"name?": str, "description?": str, "unit?": str, "day": list, "groups": list}
    table = check_table(raw, types, "file", path)
    groups = []
    for i, group in enumerate(table["groups"]):
        where = f"groups[{i}]"
        entry = check_table(group, {"nodes": float, "mean": list, "spatial": list}, where, path)
        [mean] = _matrix([entry["mean"]], f"{where}.mean", path)
        groups.append(
            NodeGroup(float(entry["nodes"]), mean, _matrix(entry["spatial"], f"{where}.spatial", path))
        )
    texts = {key: table[key] for key in ("name", "description", "unit") if key in table}
    try:
        return Cluster(tuple(groups), _matrix(table["day"], "day", path), **texts)
    except UsageError as error:
        raise FormatError(str(error), path) from None


def _matrix(raw: list[object], where: str, path: str | Path) -> Matrix:
    rows = []
    for row in raw:
        numbers = [n for n in row if type(n) in (int, float)] if isinstance(row, list) else []
        if not isinstance(row, list) or len(numbers) < len(row):
            raise FormatError(f"{where} must consist of numbers", path)
        rows.append(tuple(float(n) for n in numbers))
    return tuple(rows)


def write_cluster(path: str | Path, cluster: Cluster) -> None:
    """Write a cluster. Raises ScalatraceError."""
    document = tomlkit.document()
    document.add("format", tomlkit.item(_FORMAT))
    for name in ("name", "description", "unit"):
        if text := getattr(cluster, name):
            document.add(name, text)
    document.add("day", tomlkit.item([list(row) for row in cluster.day]))
    array = tomlkit.aot()
    for group in cluster.groups:
        spatial = [list(row) for row in group.spatial]
        array.append(tomlkit.item({"nodes": group.nodes, "mean": list(group.mean), "spatial": spatial}))
    document.add("groups", array)
    write_file(path, tomlkit.dumps(document).encode())
