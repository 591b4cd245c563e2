"""Add cause and next step to the errors of refused extrapolations: the only place that does.

In: an error with the values of a quantity, or with two formulas; the runs and the size of the result.
Out: the error with a cause, and a step that was tried as far as the traces allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.extrap.advice.causes import COMPLETING, cause_of, depends_on_senders, is_divided
from scalatrace.extrap.advice.hints import hint
from scalatrace.extrap.advice.recordings import Case, deciding, ending, unseen, with_sides
from scalatrace.extrap.errors import (
    CorruptModelError,
    NegativeError,
    NoFormulaError,
    SeenValues,
    UndeterminedError,
    UnseenSideError,
)
from scalatrace.extrap.fit.fit_field import fit
from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.refusal import Action, Cause, NextStep, Recording, Refused
from scalatrace.formula import Binary, Const
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.symbolic.shapes import Parts

if TYPE_CHECKING:
    from scalatrace import Trace

GIVE_SIZE = NextStep(Action.GIVE_SIZE, "give the size of the problem that is divided (--inputs n=...)")
WAIT_FOR_ALL = NextStep(Action.CHANGE_PROGRAM, "record with MPI_Waitall, which completes all requests")
WAIT = NextStep(Action.CHANGE_PROGRAM, "record with a call that waits (MPI_Wait, MPI_Recv) instead of polls")
FIXED_SHARES = NextStep(
    Action.CHANGE_PROGRAM, "record a run in which the receiving rank serves the others in a fixed order"
)
FIXED_ITERATIONS = NextStep(Action.CHANGE_PROGRAM, "record with a fixed number of iterations")
HISTOGRAMS = NextStep(
    Action.OPTION, "record with --histograms 1, which keeps the means; they follow a formula"
)
LOSSY = NextStep(Action.OPTION, "drop these calls (--lossy, --max-dropped)")
PLUGIN = NextStep(Action.OPTION, "give the formula in a plug-in (--plugin), or drop these calls (--lossy)")
UNCONFIRMED = NextStep(Action.OPTION, "accept the first formula (--accept-unconfirmed)")
SEEN_SIDES = NextStep(Action.OPTION, "choose a result (-P, --dims) with sides that the traces show")
FEWER_RANKS = NextStep(Action.OPTION, "choose a result of fewer ranks (-P): the rule ends before this size")
COLLECTIVE_COUNTS = ("sendcounts", "recvcounts")
"""Parameters of which `--histograms` keeps means that a result can have."""

__all__ = ["advise", "advising"]


@contextmanager
def advising(
    case: Case, traces: Sequence[Trace] = (), model: SymbolicTrace | None = None, workers: int = 1
) -> Iterator[None]:
    """Give errors that are raised inside a cause and the next step.

    Args:
        traces: in the order of the case; none: not at hand.
        model: which was being evaluated or checked.
    """
    try:
        yield
    except Refused as error:
        advise(error, case, traces, model, workers)
        raise


def advise(
    error: Refused,
    case: Case,
    traces: Sequence[Trace] = (),
    model: SymbolicTrace | None = None,
    workers: int = 1,
) -> None:
    """Give an error its cause and the next step, unless it has them; damage of a file has none."""
    if isinstance(error, CorruptModelError):
        return
    error.cause = cause_of(error, case.grids, traces)
    if error.step is not None:
        return
    if isinstance(error, NoFormulaError) and error.cause is not Cause.TIMING and not _is_unlike(error):
        error.step = _with_other_inputs(error, case, traces, workers)
    if error.step is None:
        error.step = _step(error, case, traces, model)
    else:
        error.cause = Cause.UNKNOWN_RULE


def _with_other_inputs(
    error: NoFormulaError, case: Case, traces: Sequence[Trace], workers: int
) -> NextStep | None:
    """Return the parameter that is missing, or the traces that are better left out; None: neither helps."""
    if error.values is not None and not case.runs[0].inputs and is_divided(error.values, case.grids):
        return GIVE_SIZE
    return hint(traces, case, error.values, workers) if traces else None


def _step(error: Refused, case: Case, traces: Sequence[Trace], model: SymbolicTrace | None) -> NextStep:
    match error.cause:
        case Cause.TIMING:
            return _without_timing(error, traces)
        case Cause.DATA:
            return _without_data(error, case)
        case Cause.TWO_RULES:
            return _telling_apart(error, case, model)
        case Cause.FEW_SIZES:
            if isinstance(error, NegativeError) and model is not None:
                return _beyond_end(case, model)
            if isinstance(error, UnseenSideError):
                return _record(with_sides(case), SEEN_SIDES)
            return _record(next(iter(unseen(case)), None))
    return PLUGIN


def _is_unlike(error: NoFormulaError) -> bool:
    """Return whether no trace less would help: every rank has values of its own."""
    return error.values is not None and error.values.unlike


def _record(recording: Recording | None, otherwise: NextStep = PLUGIN) -> NextStep:
    return otherwise if recording is None else NextStep.record(recording)


def _beyond_end(case: Case, model: SymbolicTrace) -> NextStep:
    """Return the runs that show what a program does where a rule of the traces ends."""
    first = ending(case, model)
    if first is None:
        return FEWER_RANKS
    return NextStep(Action.RECORD, f"add traces of {first} and more: the rule ends there", (first,))


def _without_timing(error: Refused, traces: Sequence[Trace]) -> NextStep:
    values = error.values if isinstance(error, NoFormulaError) else None
    if values is not None and values.op in COMPLETING:
        return WAIT_FOR_ALL
    if values is not None and depends_on_senders(values, traces):
        return FIXED_SHARES
    return WAIT


def _without_data(error: Refused, case: Case) -> NextStep:
    values = error.values if isinstance(error, NoFormulaError) else None
    if values is None:
        return LOSSY
    if values.agreed and values.name == "repeat":
        return FIXED_ITERATIONS
    return HISTOGRAMS if values.name in COLLECTIVE_COUNTS and _means_follow(values, case) else LOSSY


def _means_follow(values: SeenValues, case: Case) -> bool:
    """Return whether the means of all numbers follow a formula."""
    space = Space(case.runs, partners=False)
    starts = np.array(space.starts[:-1]).tolist()
    samples = {start: Parts(None, (mean,)) for start, mean in zip(starts, values.means, strict=True)}
    return fit(space, samples) is not None


def _telling_apart(error: Refused, case: Case, model: SymbolicTrace | None) -> NextStep:
    """Return the traces that tell formulas apart, or what else leads to a result."""
    if model is not None and case.grid is not None and (recordings := deciding(case, model, error)):
        return NextStep.record(*recordings)
    if isinstance(error, UndeterminedError) and not case.runs[0].inputs:
        formula = error.formula
        if isinstance(formula, Binary) and isinstance(formula.left, Const):
            return GIVE_SIZE
    return UNCONFIRMED
