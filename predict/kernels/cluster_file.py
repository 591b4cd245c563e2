"""Files of clusters: TOML with groups of nodes, their means and covariances.

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

from pathlib import Path

import tomlkit

from scalatrace.errors import FormatError, UsageError
from scalatrace.files import write_file
from scalatrace.predict.kernels.cluster import Cluster, Matrix, NodeGroup
from scalatrace.predict.kernels.toml_tables import checked, read_document

__all__ = ["read_cluster", "write_cluster"]

FORMAT = 1


def read_cluster(path: str | Path) -> Cluster:
    """Read a cluster.

    Raises:
        FormatError: the file cannot be read, or a key or value is wrong; names it.
    """
    raw = read_document(path, "a file of a cluster", FORMAT)
    types = {"name?": str, "description?": str, "unit?": str, "day": list, "groups": list}
    table = checked(raw, types, "file", path)
    groups = []
    for i, group in enumerate(table["groups"]):
        where = f"groups[{i}]"
        one = checked(group, {"nodes": float, "mean": list, "spatial": list}, where, path)
        [mean] = _matrix([one["mean"]], f"{where}.mean", path)
        groups.append(NodeGroup(float(one["nodes"]), mean, _matrix(one["spatial"], f"{where}.spatial", path)))
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
    document.add("format", tomlkit.item(FORMAT))
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
