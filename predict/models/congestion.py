"""Time on links that several messages share: by the executor, and bounds (Hoefler 2010)."""

from __future__ import annotations

import sympy  # type: ignore[import-untyped]

from scalatrace.errors import UsageError
from scalatrace.predict.models.symbols import P
from scalatrace.predict.platform import Platform, TopologyShape
from scalatrace.predict.platform.algorithms import algorithm_table
from scalatrace.predict.platform.collective_times import collective_ns
from scalatrace.predict.platform.topology import DIMENSIONS

__all__ = ["TORUS_LINKS", "alltoall_congestion", "alltoall_links", "shared_links_ns", "worst_case"]

TORUS_LINKS = 6
"""Links of a node of a three-dimensional torus."""

MAX_RANKS = 1024
"""Ranks up to which the executor runs the rounds of a call for its bound."""


def worst_case(platform: Platform) -> sympy.Expr:
    """Return how many messages may share a link in the worst mapping, as a function of P; 1: none.

    A torus of d dimensions has d/2 * N^(1/d) on N nodes: 3/2 * N^(1/3) for three; a mesh twice that. A fat
    tree has the oversubscription of its levels, a dragonfly the nodes of a group over the links to another
    one. A link of a graph may have the messages of all nodes. Ranks of a node share its links.
    """
    topology = platform.topology
    nodes = P / platform.ranks_per_node if platform.ranks_per_node > 1 else P
    factor: sympy.Expr = sympy.Integer(1)
    if topology.kind in ("torus", "mesh"):
        dims = len(topology.dims) or DIMENSIONS
        half = sympy.Rational(dims, 2) * nodes ** sympy.Rational(1, dims)
        factor = half if topology.kind == "torus" else 2 * half
    elif topology.kind == "fat-tree" and topology.radix:
        factor = sympy.nsimplify(topology.oversubscription)
    elif topology.kind == "fat-tree":
        factor = _oversubscription(topology.shape(1, 1.0))
    elif topology.kind == "dragonfly":
        shape = topology.shape(1, 1.0)
        in_group = sympy.Integer(shape.nnodes // shape.numbers[0])
        factor = in_group / sympy.nsimplify(round(shape.per_byte_ns[0] / shape.per_byte_ns[3]))
    elif topology.kind == "graph":
        factor = nodes
    if platform.shares_links and platform.ranks_per_node > 1:
        factor *= platform.ranks_per_node
    return factor


def _oversubscription(tree: TopologyShape) -> sympy.Expr:
    """Return the greatest ratio of the nodes below a switch to its links upwards."""
    levels = len(tree.numbers) // 3
    downs, ups, cables = (tree.numbers[i * levels : (i + 1) * levels] for i in range(3))
    below, most = sympy.Integer(1), sympy.Integer(1)
    for level in range(levels):
        most = max(most, below / (ups[level] * cables[level]))
        below = below * downs[level] / ups[level]
    return most


def shared_links_ns(
    platform: Platform, operation: str, algorithm: str, nbytes: int, nranks: int
) -> float | None:
    """Return what a collective call takes longer since its messages share links.

    Ranks are placed as the platform says. None: there are no links to share, the topology has fewer nodes,
    or there are more than MAX_RANKS ranks.
    """
    known = algorithm in algorithm_table().get(operation, {})
    if not known or not platform.shares_links or not 1 < nranks <= MAX_RANKS:
        return None
    try:
        placed = platform.placed(nranks)
        shape = placed.links(nranks)
    except UsageError:
        return None
    alone_ns, shared_ns = (
        collective_ns(placed, operation, algorithm, nbytes, nranks, links) for links in (None, shape)
    )
    return max(shared_ns - alone_ns, 0.0)


def alltoall_links(k: float) -> float:
    """Return how many links all messages of an all-to-all occupy in a torus of k^3 nodes.

    k^3 * 2 sum_x 2 sum_y 2 sum_z (x + y + z), x, y, z from 0 to d = (k - 1) / 2: k^3 * 12 d (d + 1)^3.
    """
    d = (k - 1) / 2
    return k**3 * 12 * d * (d + 1) ** 3


def alltoall_congestion() -> sympy.Expr:
    """Return C(P), the bound of the messages per link in an all-to-all on a three-dimensional torus."""
    k = P ** sympy.Rational(1, DIMENSIONS)
    return k * (k / 2 + 1) ** 3
