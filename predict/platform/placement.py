"""Placement: which node of a machine each rank runs on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import UsageError
from scalatrace.files import read_text
from scalatrace.spelling import did_you_mean

__all__ = ["PLACEMENTS", "check_placement", "place_ranks"]

PLACEMENTS = ("block", "cyclic", "random:SEED", "file:HOSTS", "trace")


def check_placement(placement: str) -> None:
    """Raise UsageError unless it is one of PLACEMENTS."""
    kind, colon, value = placement.partition(":")
    fits = {
        "block": not colon,
        "cyclic": not colon,
        "trace": not colon,
        "random": value.isdecimal(),
        "file": bool(value),
    }
    if not fits.get(kind, False):
        raise UsageError(f"placement is {placement!r}; known: {', '.join(PLACEMENTS)}")


def place_ranks(
    placement: str,
    nranks: int,
    ranks_per_node: int,
    meta: Mapping[str, str],
    names: tuple[str, ...] = (),
) -> Ints:
    """Return the node of each rank.

    Args:
        placement: one of PLACEMENTS.
        ranks_per_node: 0: all on one node.
        meta: header of the trace.
        names: of the machine's nodes; (): hosts of a file are numbered in their order.

    Raises:
        UsageError: the file does not fit, or the trace has no hosts.
        FormatError: the file cannot be read.
    """
    kind, _, value = placement.partition(":")
    ranks = np.arange(nranks, dtype=np.int64)
    if kind == "file":
        return _of_file(value, nranks, names)
    if kind == "trace":
        most = meta.get("ranks-per-host", "")
        if not most.isdecimal() or not int(most):
            raise UsageError("placement trace: the trace does not say how many ranks a host had")
        ranks_per_node = int(most)
    per_node = ranks_per_node or nranks
    if kind == "cyclic":
        return ranks % -(-nranks // per_node)
    if kind == "random":
        ranks = np.random.default_rng(int(value)).permutation(ranks)
    return ranks // per_node


def _of_file(path: str, nranks: int, names: tuple[str, ...]) -> Ints:
    numbered = [(i, line.split()) for i, line in enumerate(read_text(Path(path)).splitlines(), 1)]
    listed = [(i, words[0]) for i, words in numbered if words and not words[0].startswith("#")]
    if len(listed) < nranks:
        raise UsageError(
            f"{path} has {len(listed)} hosts, the run has {nranks} ranks; "
            "write the host of each rank on a line of its own"
        )
    hosts = [host for _, host in listed[:nranks]]
    node_names = list(names) or list(dict.fromkeys(hosts))
    number = {name: i for i, name in enumerate(node_names)}
    for line, host in listed[:nranks]:
        if host not in number:
            raise UsageError(
                f"{path}, line {line}: the topology has no node {host}{did_you_mean(host, node_names)}"
            )
    return np.array([number[host] for host in hosts], dtype=np.int64)
