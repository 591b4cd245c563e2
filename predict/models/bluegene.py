"""The worked example of Hoefler, Gropp, Thakur and Träff (EuroMPI 2010): MPI on Blue Gene/P.

Messages follow the installed platform `bluegene-p`. Small broadcasts and reductions use a network of
their own with a tree of links, which no algorithm over messages describes: their formulas are here. Results
are in ns.
"""

from __future__ import annotations

import sympy  # type: ignore[import-untyped]

from scalatrace.predict.models.congestion import TORUS_LINKS, alltoall_congestion
from scalatrace.predict.models.messages import piecewise
from scalatrace.predict.models.symbols import P, S
from scalatrace.predict.platform import read_platform

__all__ = [
    "LINK_NS_PER_BYTE", "MATCH_NS_PER_REQUEST", "TREE_BCAST_NS", "TREE_START_NS", "TREE_SUM_NS", "alltoall",
    "bcast", "bounded_message", "message", "small_allreduce", "small_alltoall", "small_bcast",
]  # fmt: skip

TREE_START_NS = 13_000.0
"""Start of an operation in the tree network."""

TREE_BCAST_NS, TREE_SUM_NS = 310.0, 370.0
"""Stage of the tree network: of a broadcast, and of a sum."""

LINK_NS_PER_BYTE = 2.67
"""Time per byte of one of the six torus links."""

MATCH_NS_PER_REQUEST = 100.0
"""Bound of the time that each request in the matching queue adds."""


def message() -> sympy.Expr:
    """Return T(S) of a message in its three ranges: small, eager, rendezvous."""
    return piecewise(read_platform("bluegene-p").network)


def bounded_message() -> tuple[sympy.Expr, sympy.Expr]:
    """Return bounds of a rendezvous message: without congestion, and with the worst on a torus."""
    start, per_byte = 9800, sympy.Float(LINK_NS_PER_BYTE)
    return start + per_byte * S, start + per_byte * S * sympy.Rational(3, 2) * sympy.cbrt(P)


def small_bcast() -> sympy.Expr:
    """Return T(P) of a broadcast of 8 bytes in the tree network."""
    return TREE_START_NS + TREE_BCAST_NS * sympy.log(P, 2)


def small_allreduce(start_ns: float) -> sympy.Expr:
    """Return T(P) of a sum of 8 bytes in the tree network; its start is not published."""
    return start_ns + TREE_SUM_NS * sympy.log(P, 2)


def small_alltoall(start_ns: float, gap_ns: float) -> sympy.Expr:
    """Return T(P) of an all-to-all of 8 bytes by direct sends."""
    return start_ns + gap_ns * (P - 1)


def bcast() -> sympy.Expr:
    """Return T(P, S) of a large broadcast over all six links."""
    return small_bcast() + sympy.Float(LINK_NS_PER_BYTE) / TORUS_LINKS * S


def alltoall(gap_ns: float, per_byte_ns: float = LINK_NS_PER_BYTE) -> sympy.Expr:
    """Return T(P, S) of a large all-to-all: limited by the six links or by the congestion of the torus."""
    return gap_ns * (P - 1) + S * per_byte_ns * sympy.Max((P - 1) / TORUS_LINKS, alltoall_congestion())
