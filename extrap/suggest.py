"""Suggest the runs to record next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scalatrace.extrap.advice.advise import advise
from scalatrace.extrap.advice.recordings import Case, unseen
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.extrapolate import fit_prepared, of_model, prepared, target_inputs
from scalatrace.extrap.grid.target import check_sides, target_grid
from scalatrace.extrap.matching import check_consistent, check_matching, check_model
from scalatrace.extrap.refusal import Recording, Refused
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

MAX_SUGGESTED = 5
"""Runs that are suggested."""

__all__ = ["MAX_SUGGESTED", "suggest_recordings"]


def suggest_recordings(
    traces: Sequence[Trace],
    dims_of: Sequence[Sequence[int]] | None = None,
    nprocs: int | None = None,
    dims: Sequence[int] | None = None,
    params: Mapping[str, int] | None = None,
    check: bool = True,
) -> tuple[str, list[Recording]]:
    """Return the reason for another trace and the runs that would help, the smallest first.

    Where two formulas fit the traces, the runs are those that tell them apart; else those with a side of the
    grid that no trace has: something follows no rule, or calls of larger sizes do not fit together. Without a
    reason ("") nothing is needed.

    Args:
        traces: of one program.
        dims_of: their grids; found in them unless given.
        nprocs, dims, params: the size to extrapolate to, if it is known.
        check: whether the calls of the result have to fit together.

    Raises:
        InputError: the traces do not go together.
    """
    ordered, runs, _ = prepared(traces, dims_of)
    case = Case(runs)
    size = nprocs if nprocs is not None or dims is None else Grid(tuple(dims)).nprocs
    try:
        if size is not None:
            grid = target_grid(case.grids, size, dims)
            case = Case(runs, grid, params)
            check_sides(grid, [seen.dims for seen in case.grids])
        model = fit_prepared(ordered, runs)
        consistent = check and not check_consistent(ordered)
        if size is None:
            if consistent:
                check_model(model)
            return "", unseen(case)[:MAX_SUGGESTED]
        result = of_model(model, size, dims, params)
        if consistent:
            check_matching(model, result.trace, result.grid, target_inputs(model, params or {}))
    except (ExtrapolationError, InputError) as error:
        if not isinstance(error, Refused):
            return str(error), unseen(case)[:MAX_SUGGESTED]
        advise(error, case, ordered)
        step = error.step
        return str(error), list(step.recordings if step is not None else ())
    return "", []
