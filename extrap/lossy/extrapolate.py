"""Lossy extrapolation: drop the calls without a rule; the result can still be replayed (§3.2.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scalatrace.escapes import clean
from scalatrace.extrap.alignment.rank_tree import Key
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import of_model, prepared
from scalatrace.extrap.lossy.calls import MAX_CALLS, Calls, Reason
from scalatrace.extrap.lossy.fitting import Lossy
from scalatrace.extrap.lossy.links import links_of
from scalatrace.extrap.lossy.report import Losses
from scalatrace.extrap.lossy.snippets import Snippets
from scalatrace.trace.consistency.partners import first_unmatched
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.origin import LOSSY

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["MAX_DROPPED", "LossyExtrapolation", "extrapolate_lossy", "lossy_model_of"]


MAX_DROPPED = 0.1
"""Part of a trace's calls that is dropped at most, unless the user allows more."""


@dataclass(frozen=True)
class LossyExtrapolation:
    """A result, and its dropped calls.

    Attributes:
        losses: what was dropped of each input trace, the smallest first.
        alone: a call of the result that waits for one that is not there, in words; None: there is none.
        checked: whether the result was small enough to look for such calls.
    """

    trace: Trace
    grid: Grid
    model: SymbolicTrace
    evidence: str
    losses: tuple[Losses, ...]
    alone: str | None
    checked: bool


def extrapolate_lossy(
    traces: Sequence[Trace],
    nprocs: int,
    dims: Sequence[int] | None = None,
    params: Mapping[str, int] | None = None,
    dims_of: Sequence[Sequence[int]] | None = None,
    timing_model: str | None = None,
    run_noise: float = 0.0,
    snippets: Snippets | None = None,
    max_dropped: float = MAX_DROPPED,
) -> LossyExtrapolation:
    """Extrapolate to `nprocs` ranks without the calls that follow no rule.

    Args:
        snippets: which calls stay (`extrap.lossy.snippets.load`); without, only what has to go is dropped.
        max_dropped: part of a trace's calls that may be dropped.
        others: as those of `scalatrace.extrap.extrapolate`.

    Raises:
        InputError: the inputs do not go together, or are too large to look at every call.
        TextError: a snippet tests what its calls do not have.
        ExtrapolationError: what cannot be dropped follows no rule, or more would be dropped than may be.
    """
    ordered, runs, evidence = prepared(traces, dims_of)
    lossy = Lossy(ordered, runs, snippets)
    while True:
        model = lossy.model(lambda: _check_losses(lossy.losses(), evidence, max_dropped))
        result = of_model(model, nprocs, dims, params, timing_model, run_noise)
        checked = result.trace.nevents() <= MAX_CALLS
        alone = first_unmatched(result.trace) if checked else None
        if alone is None or not lossy.drop_sites(_alone(result.trace) - lossy.alone):
            losses = tuple(lossy.losses())
            model = _mark_lossy(model, losses)
            if LOSSY in model.meta:
                result.trace.meta[LOSSY] = model.meta[LOSSY]
            return LossyExtrapolation(result.trace, result.grid, model, evidence, losses, alone, checked)


def lossy_model_of(
    traces: Sequence[Trace],
    dims_of: Sequence[Sequence[int]] | None = None,
    snippets: Snippets | None = None,
    max_dropped: float = MAX_DROPPED,
) -> tuple[SymbolicTrace, str, tuple[Losses, ...]]:
    """Fit the calls that follow rules; return symbolic trace, origin of the grid, and dropped calls.

    Raises:
        InputError, TextError, ExtrapolationError: as `extrapolate_lossy`.
    """
    ordered, runs, evidence = prepared(traces, dims_of)
    lossy = Lossy(ordered, runs, snippets)
    model = lossy.model(lambda: _check_losses(lossy.losses(), evidence, max_dropped))
    losses = tuple(lossy.losses())
    return _mark_lossy(model, losses), evidence, losses


def _mark_lossy(model: SymbolicTrace, losses: Sequence[Losses]) -> SymbolicTrace:
    """Return the formulas with a header that has the dropped events, and those with means."""
    dropped, averaged = (
        max(shares) for shares in zip(*((one.share, one.averaged_share) for one in losses), strict=True)
    )
    facts = [f"up to {100 * dropped:.3g} % of the events were dropped"] if dropped else []
    facts += [f"counts of up to {100 * averaged:.3g} % of the events are means"] if averaged else []
    return replace(model, meta={**model.meta, LOSSY: ", ".join(facts)}) if facts else model


def _check_losses(losses: Sequence[Losses], evidence: str, max_dropped: float) -> None:
    """Raise ExtrapolationError when more than this part of a trace's calls is dropped."""
    worst = max(losses, key=_share)
    if _share(worst) <= max_dropped:
        return
    first = next(loss for loss in worst.losses if loss.reason is not Reason.SNIPPETS)
    raise ExtrapolationError(
        f"{_share(worst):.1%} of the events of {worst.nprocs} ranks ({worst.grid}) would be dropped, more "
        f"than {max_dropped:.0%} (--max-dropped); most of them: {first.op} at {clean(first.site)} "
        f"({first.reason.words})\n"
        f"The grid was taken from: {evidence}. If the ranks form another one, name it (--dims-of)"
    )


def _share(losses: Losses) -> float:
    """Return the part of a trace's calls that is dropped, those aside that no snippet keeps."""
    dropped = sum(loss.calls for loss in losses.losses if loss.reason is not Reason.SNIPPETS)
    return dropped / losses.events if losses.events else 0.0


def _alone(trace: Trace) -> set[Key]:
    """Return the operations and stacks of calls whose partners are not in a trace."""
    calls = Calls.of(trace)
    return {Key(call.op, call.stack) for call in map(calls.calls.__getitem__, links_of(calls).alone)}
