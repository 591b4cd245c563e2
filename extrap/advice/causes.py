"""Find the cause of a refused extrapolation from the values of the quantity and the traces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from scalatrace.extrap.errors import NoFormulaError, PollingError, SeenValues
from scalatrace.extrap.refusal import Cause, Refused
from scalatrace.trace.model.elastic import at
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.requests import POLLING
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import ANY_SOURCE

if TYPE_CHECKING:
    from scalatrace import Trace

MIN_SIZES = 6
"""Sizes after which another one would not make a formula likely."""

MIN_TOTALS = 3
"""Traces whose totals have to be on a line."""

MAX_ROUNDING = 0.1
"""By which part products of a value and a size may differ that are the size of one problem, rounded."""

COMPLETING = frozenset({"Waitany", "Waitsome"})
"""Operations that complete some of several requests."""

__all__ = ["MIN_SIZES", "cause_of", "depends_on_senders", "is_divided"]


def cause_of(error: Refused, grids: Sequence[Grid], traces: Sequence[Trace]) -> Cause:
    """Return why an extrapolation is refused.

    Args:
        grids, traces: in the same order; without traces, timing is not looked for.
    """
    if error.cause is not None:
        return error.cause
    values = error.values if isinstance(error, NoFormulaError) else None
    if isinstance(error, PollingError) or (values is not None and _is_of_timing(values, traces)):
        return Cause.TIMING
    if values is not None and (values.unlike or _is_converging(values)):
        return Cause.DATA
    few = len({grid.dims for grid in grids}) < MIN_SIZES
    return Cause.FEW_SIZES if few else Cause.UNKNOWN_RULE


def _is_of_timing(values: SeenValues, traces: Sequence[Trace]) -> bool:
    """Return whether values depend on which request, or which rank, comes first."""
    return values.op in COMPLETING or values.op in POLLING or depends_on_senders(values, traces)


def depends_on_senders(values: SeenValues, traces: Sequence[Trace]) -> bool:
    """Return whether values depend on the senders that receives from MPI_ANY_SOURCE match.

    So do the partners of the receiving rank. Of others, the ranks share what is the same in total: the
    numbers of all ranks have sums that are on a line over the numbers of ranks.
    """
    used = [(trace, ranks) for trace, ranks in zip(traces, values.ranks, strict=False) if ranks]
    receivers = [_receivers_from_any(trace) for trace, _ in used]
    if not used or not all(receivers):
        return False
    if values.kind is Kind.PEER:
        return all(ranks <= own for (_, ranks), own in zip(used, receivers, strict=True))
    points = sorted((trace.nprocs, total) for trace, total in zip(traces, values.totals, strict=False))
    return len(points) >= MIN_TOTALS and _is_line(points)


def _is_line(points: Sequence[tuple[int, int]]) -> bool:
    (x0, y0), (x1, y1) = points[0], points[-1]
    return x0 != x1 and all((y - y0) * (x1 - x0) == (y1 - y0) * (x - x0) for x, y in points)


def _receivers_from_any(trace: Trace) -> frozenset[int]:
    """Return the ranks that receive from MPI_ANY_SOURCE."""
    return frozenset(
        rank
        for leaf in trace.leaves()
        for param in leaf.params
        if isinstance(param, Peer)
        for rank in trace.ranks
        if (vec := at(param.value, rank)) is not None and vec.find(ANY_SOURCE) is not None
    )


def _is_converging(values: SeenValues) -> bool:
    """Return whether all ranks agree on trip counts that neither only grow nor only fall, as a solver's."""
    counts = values.largest
    growing = all(a <= b for a, b in pairwise(counts)), all(a >= b for a, b in pairwise(counts))
    return values.agreed and values.name == "repeat" and (not any(growing) or len(counts) > MIN_TOTALS)


def is_divided(values: SeenValues, grids: Sequence[Grid]) -> bool:
    """Return whether the largest numbers may be shares of one problem: they fall as a size grows."""
    falls = all(a >= b for a, b in pairwise(values.largest)) and values.largest[0] > values.largest[-1] > 1
    if len(values.largest) != len(grids) or not falls:
        return False
    sizes = [[prod(grid.dims) for grid in grids], *zip(*(grid.dims for grid in grids), strict=True)]
    for column in sizes:
        products = [value * size for value, size in zip(values.largest, column, strict=True)]
        if len(set(column)) > 1 and max(products) <= (1 + MAX_ROUNDING) * min(products) + max(column):
            return True
    return False
