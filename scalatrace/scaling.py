"""Factors on the sizes of messages: which parameters change, and how (dissertation, §3.5.1).

A replay and generated code scale messages by the same rules.
"""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction
from math import ceil

from scalatrace.errors import UsageError
from scalatrace.operations import COLLECTIVES, Category, operation

__all__ = [
    "COUNTS", "DISPLACEMENTS", "SCALED", "VECTORS", "exact_factor", "is_capacity", "parse_factor",
    "scaled", "spread",
]  # fmt: skip

MAX_DENOMINATOR = 10**6
"""Of a factor as a fraction: generated programs multiply numbers of elements by it, in 64 bits."""

COUNTS = frozenset({"count", "sendcount", "recvcount"})
VECTORS = frozenset({"sendcounts", "recvcounts"})
DISPLACEMENTS = frozenset({"displs", "sdispls", "rdispls"})
"""Parameters that a factor on the size of messages changes."""

SCALED = frozenset({
    Category.SEND, Category.RECV, Category.SENDRECV, Category.PERSISTENT,
    Category.COLLECTIVE, Category.NEIGHBOUR,
})  # fmt: skip
"""Operations whose messages can have another size. Windows and files have a size of their own."""


def parse_factor(text: str) -> float:
    """Return a factor of 0 or more. Raises UsageError."""
    try:
        factor = float(text)
    except ValueError:
        factor = -1.0
    if not 0 <= factor < float("inf"):
        raise UsageError(f"{text!r} is not a factor: a number from 0 on")
    return factor


def exact_factor(factor: float) -> Fraction:
    """Return the fraction that a factor's decimal digits say: 1/10 for 0.1."""
    return max(Fraction(repr(factor)).limit_denominator(MAX_DENOMINATOR), _least(factor))


def _least(factor: float) -> Fraction:
    return Fraction(1, MAX_DENOMINATOR) if factor > 0 else Fraction(0)


def scaled(n: int, factor: Fraction) -> int:
    """Return n elements times a factor, rounded up. Only the factor 0 makes a message empty."""
    return n if n <= 0 or factor == 1 else ceil(n * factor)


def spread(factor: Fraction) -> int:
    """Return the factor on displacements, with which pieces that grow by a factor do not overlap."""
    return max(1, ceil(factor))


def is_capacity(op: str, name: str, parameters: Container[object]) -> bool:
    """Return whether a count is the receive capacity for a message of one rank, which may be shorter.

    The two sides may count in different datatypes. So a capacity is scaled by the next whole factor:
    ceil(m f) <= m ceil(f). All ranks scale a collective in the same way. Partitioned messages have no spare
    capacity: both sides have the same size.

    Args:
        op: operation without `MPI_`.
        name: of the count.
        parameters: names of the operation's parameters.
    """
    category = operation(op).category
    if category in COLLECTIVES or "partitions" in parameters:
        return False
    return name == "recvcount" or (name == "count" and ("source" in parameters or category is Category.RECV))
