"""Own rank in, and number of peers of, a communicator: entries of arrays that generated programs fill."""

from __future__ import annotations

from scalatrace.formula import Element, Expr

__all__ = ["OWN", "SIZE", "is_communicator_free", "own_rank", "peer_count"]

OWN, SIZE = "own", "size"
"""Names of the arrays, indexed by the number of a communicator."""


def own_rank(family: Expr) -> Element:
    """Return this process's rank in the communicator with that number."""
    return Element(OWN, family)


def peer_count(family: Expr) -> Element:
    """Return how many ranks a peer in the communicator with that number can be."""
    return Element(SIZE, family)


def is_communicator_free(op: str) -> bool:
    """Return whether an operation ends a communicator."""
    return op in ("Comm_free", "Comm_disconnect")
