"""Which share of the mean waits for messages a rank has time for.

A histogram says how long ranks waited on the average. In a program whose ranks run different parts, those
that compute longest hardly wait; if they waited as long as the others did, the whole run would last longer.
But all ranks end at about the same time: what a rank neither computes nor spends in other calls it waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalatrace.operations import Category, operation
from scalatrace.trace.query.load import COMM, COMPUTE, Loads, Means
from scalatrace.trace.query.requests import ENDING

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.model.nodes import Event

__all__ = ["wait_share", "waits"]

WAITING = (Category.RECV, Category.PROBE)


def waits(op: str) -> bool:
    """Whether a call of this operation may wait for a message."""
    return op in ENDING or operation(op).category in WAITING


def wait_share(trace: Trace, rank: int) -> float:
    """Return the factor, from 0 to 1, on the mean times of a rank's receives and completions."""

    def may_wait(event: Event) -> bool:
        return waits(trace.ops[event.op].name)

    loads, in_mpi = Loads(trace, COMPUTE), Means(trace, COMM)
    waited = in_mpi.of(rank, may_wait)
    if waited <= 0:
        return 1.0
    computed = loads.means.of(rank) * loads.over_means(rank)
    left = loads.means.per_rank + in_mpi.per_rank - computed - (in_mpi.of(rank) - waited)
    return min(1.0, max(0.0, left / waited))
