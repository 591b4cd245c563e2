"""Which sizes to record next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from scalatrace.extrap.errors import ExtrapolationError, InputError, UndeterminedError
from scalatrace.extrap.extrapolate import fit_prepared, inputs_of, of_model, prepared, target_inputs
from scalatrace.extrap.matching import check_consistent, check_matching, check_model
from scalatrace.extrap.sizes import MAX_SUGGESTED, deciding, instructive
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["suggested"]


def suggested(
    traces: Sequence[Trace],
    dims_of: Sequence[Sequence[int]] | None = None,
    nprocs: int | None = None,
    dims: Sequence[int] | None = None,
    params: Mapping[str, int] | None = None,
    check: bool = True,
) -> tuple[str, list[Grid]]:
    """Why another trace is needed, and of which sizes one would help, the smallest first.

    Where two formulas fit the traces, the sizes are those that tell them apart; else those with a side of the
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
    grids = [run.grid for run in runs]
    try:
        model = fit_prepared(ordered, runs)
        consistent = check and not check_consistent(ordered)
        if nprocs is None and dims is None:
            if consistent:
                check_model(model)
            return "", list(islice(instructive(grids), MAX_SUGGESTED))
        size = nprocs if nprocs is not None else Grid(tuple(dims or ())).nprocs
        result = of_model(model, size, dims, params)
        if consistent:
            check_matching(model, result.trace, result.grid, target_inputs(model, params or {}))
    except UndeterminedError as error:
        inputs = inputs_of(ordered[-1]) | dict(params or {})
        return str(error), list(islice(deciding(grids, error, inputs), MAX_SUGGESTED))
    except (ExtrapolationError, InputError) as error:
        return str(error), list(islice(instructive(grids), MAX_SUGGESTED))
    return "", []
