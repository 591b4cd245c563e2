"""Find the traces that prevent a rule: the smallest one, or those of other shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from scalatrace.extrap.advice.recordings import Case
from scalatrace.extrap.errors import ExtrapolationError, SeenValues
from scalatrace.extrap.fit.fit_trace import fit
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.refusal import Action, NextStep
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

MIN_WITHOUT_SMALLEST = 3
"""Traces that remain without the smallest one."""

MIN_OF_ONE_SHAPE = 4
"""Traces of one shape; three may follow rules by chance."""

__all__ = ["hint"]


def hint(traces: Sequence[Trace], case: Case, values: SeenValues | None, workers: int) -> NextStep | None:
    """Return the traces without which the others follow rules; None if leaving out traces does not help.

    Args:
        traces: in the order of the case.
        values: what was seen of the quantity without a formula.
    """
    one_shape = _of_one_shape(traces, case, workers)
    if one_shape is not None or (values is not None and _varies_by_smallest(values)):
        return one_shape
    return _too_small(traces, case.runs, workers)


def _of_one_shape(traces: Sequence[Trace], case: Case, workers: int) -> NextStep | None:
    """Return whether grids with the larger sides first follow rules, or those with the smaller ones first.

    The result has to be of that shape, too: for one of another shape, the other traces are needed.

    Programs may choose the order of their steps by the side that is longer (SNAP).
    """
    runs = case.runs
    for falling in (True, False):
        if case.grid is not None and not _is_sorted(case.grid, falling):
            continue
        chosen = [k for k, run in enumerate(runs) if _is_sorted(run.grid, falling)]
        if not MIN_OF_ONE_SHAPE <= len(chosen) < len(traces):
            continue
        if not _follow([traces[k] for k in chosen], [runs[k] for k in chosen], workers):
            continue
        named = ", ".join(f"{traces[k].nprocs}" for k in chosen)
        order = " >= ".join(runs[0].grid.sizes if falling else reversed(runs[0].grid.sizes))
        text = (
            f"give only traces with {order}, for a result of that shape: those of {named} ranks follow "
            "rules, the others do something else"
        )
        return NextStep(Action.LEAVE_OUT, text, leave_out=tuple(set(range(len(runs))) - set(chosen)))
    return None


def _is_sorted(grid: Grid, falling: bool) -> bool:
    return all(a >= b if falling else a <= b for a, b in pairwise(grid.dims))


def _varies_by_smallest(values: SeenValues) -> bool:
    """Whether the smallest trace alone shows that a quantity varies: the others would follow a constant."""
    smallest, *others = zip(values.means, values.largest, strict=True)
    return len(set(others)) == 1 and smallest not in others


def _too_small(traces: Sequence[Trace], runs: Sequence[Run], workers: int) -> NextStep | None:
    """Return whether all but the smallest trace, on which too much may be equal or missing, follow rules."""
    if len(traces) <= MIN_WITHOUT_SMALLEST or not _follow(traces[1:], runs[1:], workers):
        return None
    text = f"leave out the trace of {traces[0].nprocs} ranks, which is too small: the others follow rules"
    return NextStep(Action.LEAVE_OUT, text, leave_out=(0,))


def _follow(traces: Sequence[Trace], runs: Sequence[Run], workers: int) -> bool:
    try:
        fit(traces, runs, workers)
    except ExtrapolationError:
        return False
    return True
