"""Sizes at which the protocol of MPI_Send changes (Cornebize, section 5.3.2).

Algorithm 3 finds the largest send that is not synchronous, Algorithm 4 the largest that is asynchronous:

    asynchronous   no deadlock, no corruption: the data are sent before MPI_Isend returns
    detached       no deadlock, but corruption: the data are sent later, without the sender
    synchronous    the send waits for its receive
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["largest"]


def largest(holds: Callable[[int], bool], limit: int) -> int | None:
    """Return the largest size with a property that all smaller ones have; binary search.

    Args:
        holds: whether a size has the property; the same on all ranks.
        limit: largest size.

    Returns:
        The size; -1 when not even 1 byte has it (that is the smallest size tested), None when `limit` has.
    """
    if not holds(1):
        return -1
    good, bad = 1, 2
    while holds(min(bad, limit)):
        if bad >= limit:
            return None
        good, bad = bad, 2 * bad
    bad = min(bad, limit)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
