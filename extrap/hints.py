"""Which traces stand in the way when no rules are found: the smallest one, or those of other shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.fit.fit_trace import fit
from scalatrace.extrap.grid.space import Run

if TYPE_CHECKING:
    from scalatrace import Trace

MIN_HINTED = 3
"""With fewer traces, none can be left out."""

__all__ = ["hint"]


def hint(traces: Sequence[Trace], runs: Sequence[Run], workers: int, first: str) -> str:
    """What to try with fewer of the traces; "" where that does not help.

    Args:
        traces, runs: in order of their size.
        first: the error with all traces.
    """
    return _of_one_shape(traces, runs, workers) or _too_small(traces, runs, workers, first)


def _of_one_shape(traces: Sequence[Trace], runs: Sequence[Run], workers: int) -> str:
    """Whether grids with the larger sides first follow rules, or those with the smaller ones first.

    Programs may choose the order of their steps by the side that is longer (SNAP).
    """
    for falling in (True, False):
        chosen = [
            k
            for k, run in enumerate(runs)
            if all(a >= b if falling else a <= b for a, b in pairwise(run.grid.dims))
        ]
        if not MIN_HINTED <= len(chosen) < len(traces):
            continue
        try:
            fit([traces[k] for k in chosen], [runs[k] for k in chosen], workers)
        except ExtrapolationError:
            continue
        named = ", ".join(f"{traces[k].nprocs}" for k in chosen)
        order = " >= ".join(runs[0].grid.sizes if falling else reversed(runs[0].grid.sizes))
        return (
            f"\nThe traces of {named} ranks follow rules, those of other shapes do something else: give "
            f"only traces with {order}, for a result of that shape"
        )
    return ""


def _too_small(traces: Sequence[Trace], runs: Sequence[Run], workers: int, first: str) -> str:
    """A hint on the smallest trace, on which too much may be equal or missing.

    Args:
        first: the error with all traces.
    """
    if len(traces) < MIN_HINTED:
        return ""
    smallest = f"the trace of {traces[0].nprocs} ranks"
    try:
        fit(traces[1:], runs[1:], workers)
    except ExtrapolationError as error:
        line = str(error).splitlines()[0]
        return "" if line == first.splitlines()[0] else f"\nWithout {smallest} the error is: {line}"
    return f"\nThe others follow rules: {smallest} is too small. Leave it out"
