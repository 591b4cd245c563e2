"""Bounds of the time on links that several messages share (Hoefler 2010)."""

from __future__ import annotations

import sympy  # type: ignore[import-untyped]

from scalatrace.predict.models.symbols import P
from scalatrace.predict.platform import Platform

__all__ = ["TORUS_LINKS", "alltoall_congestion", "alltoall_links", "worst_case"]

TORUS_LINKS = 6
"""Links of a node of a three-dimensional torus."""

DIMENSIONS = 3
"""Of a torus whose platform does not state them."""


def worst_case(platform: Platform) -> sympy.Expr:
    """Return how many messages may share a link in the worst mapping, as a function of P; 1: none.

    A torus of d dimensions has d/2 * N^(1/d) on N nodes: 3/2 * N^(1/3) for three. A fat tree has its
    oversubscription. Ranks of a node that share its network interface multiply that.
    """
    topology = platform.topology
    nodes = P / platform.ranks_per_node if platform.ranks_per_node > 1 else P
    factor: sympy.Expr = sympy.Integer(1)
    if topology.kind == "torus":
        dims = len(topology.dims) or DIMENSIONS
        factor = sympy.Rational(dims, 2) * nodes ** sympy.Rational(1, dims)
    elif topology.kind == "fat-tree":
        factor = sympy.nsimplify(topology.oversubscription)
    if platform.interface == "node" and platform.ranks_per_node > 1:
        factor *= platform.ranks_per_node
    return factor


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
