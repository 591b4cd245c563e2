"""Origin of a result: its header, and warnings on its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from scalatrace.escapes import clean
from scalatrace.extrap.timing.registry import DEFAULT
from scalatrace.extrap.timing.total import PoorFit, TotalTime
from scalatrace.extrap.timing.trends import MAX_WAITING_REACH
from scalatrace.formula import Const
from scalatrace.trace.model.symbolic import Rule, SymbolicTrace, events
from scalatrace.trace.model.trace import PARAMETER
from scalatrace.trace.oversubscription import HOSTS, OVERSUBSCRIBED, is_oversubscribed
from scalatrace.trace.symbolic import origin
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

OF_ONE_RUN = ("date", "run", *HOSTS)
"""Entries of a trace's header that say nothing of a result."""

MAX_REACH = 16
"""Times that follow a function to more than so many times the largest trace are a guess."""

MIN_SHARE = 0.05
"""Part of the time between or inside calls that a warning is about."""

__all__ = ["header", "irregular_loop", "model_warnings", "notes", "warnings"]


def notes(traces: Sequence[Trace], accept_unconfirmed: bool) -> dict[str, str]:
    """Return entries of a model's header: accepted formulas, and runs with more ranks than cores."""
    result = {origin.UNCONFIRMED: origin.ACCEPTED} if accept_unconfirmed else {}
    runs = [str(trace.nprocs) for trace in traces if is_oversubscribed(trace.meta)]
    if runs:
        result[OVERSUBSCRIBED] = f"runs with more ranks than cores: {', '.join(runs)}"
    return result


def header(
    model: SymbolicTrace, grid: Grid, inputs: Mapping[str, int], timing: str | None, accept_unconfirmed: bool
) -> dict[str, str]:
    """Return the header of a result: facts of the largest trace that still hold, and its origin."""
    result = {key: text for key, text in model.meta.items() if key not in OF_ONE_RUN}
    result |= {PARAMETER + name: str(value) for name, value in inputs.items()}
    ranks = ", ".join(str(prod(dims)) for dims, _ in model.seen)
    result[origin.EXTRAPOLATED] = origin.origin_text(f"from {ranks} ranks to {grid}", timing or DEFAULT)
    if accept_unconfirmed:
        result[origin.UNCONFIRMED] = origin.ACCEPTED
    return result


MIN_IRREGULAR = 7
"""So many numbers describe no regular trip counts."""


def warnings(
    model: SymbolicTrace, nprocs: int, totals: Sequence[TotalTime], poor: Sequence[PoorFit]
) -> Iterator[str]:
    """Yield warnings about a result of so many ranks, and its times.

    Args:
        poor: calls whose times follow no curve well.
    """
    yield from model_warnings(model)
    yield from _reach_warnings(model, nprocs, totals)
    if poor:
        first, share = poor[0], sum(fit.share for fit in poor if fit.stat == poor[0].stat)
        where = "inside" if first.stat == "comm_ns" else "between"
        yield (
            f"{share:.0%} of the time {where} calls follows no curve well; the largest part of it: "
            f"{first.op} at {clean(first.site)}, {first.formula} ns, off by {first.fit:.0%}"
        )


def model_warnings(model: SymbolicTrace) -> Iterator[str]:
    """Yield warnings about a result; none about how far its times are extended."""
    yield from (model.meta[name] for name in (origin.LOSSY, origin.UNCONFIRMED) if name in model.meta)
    if irregular := irregular_loop(model):
        yield irregular
    if OVERSUBSCRIBED in model.meta:
        yield f"{model.meta[OVERSUBSCRIBED]}; their times contain waiting for cores"


def _reach_warnings(model: SymbolicTrace, nprocs: int, totals: Sequence[TotalTime]) -> Iterator[str]:
    """Yield how far times are extended: by a function, as in the largest trace, or in calls that wait."""
    largest = max(prod(dims) for dims, _ in model.seen)
    if nprocs <= largest:
        return
    far = f"{nprocs / largest:,.0f} times the largest trace"
    if nprocs > MAX_REACH * largest and any(total.extended > MIN_SHARE for total in totals):
        yield f"{nprocs:,} ranks are {far}: times that follow a function so far are a guess"
    cause = "ranks shared cores" if OVERSUBSCRIBED in model.meta else "no trace confirms how it changes"
    for total in totals:
        if total.unconfirmed > MIN_SHARE:
            where = "inside" if total.stat == "comm_ns" else "between"
            more = "at least " if total.kept > total.unconfirmed + MIN_SHARE else ""
            part = f"{more}{total.unconfirmed:.0%}"
            yield f"{part} of the time {where} calls stays as on {largest:,} ranks: {cause}"
    inside = sum(total.kept for total in totals if total.stat == "comm_ns")
    if nprocs > MAX_WAITING_REACH * largest and inside > MIN_SHARE:
        yield (
            "time inside calls that wait for other ranks is not extended beyond "
            f"{MAX_WAITING_REACH} times the largest trace; `scalatrace simulate` predicts it"
        )


def irregular_loop(model: SymbolicTrace) -> str:
    """Report a loop whose trip counts follow no rule, but are equal in all traces; "": there is none."""
    first = next(_irregular(model.nodes), None)
    if first is None:
        return ""
    return (
        f"the trip counts of a loop around {first} are irregular, but equal in all traces: "
        "if they depend on data, they differ on other numbers of ranks"
    )


def _irregular(rules: Sequence[Rule]) -> Iterator[str]:
    """The loops whose trip counts are many constants, as iterations of a solver are, by their first call."""
    for rule in rules:
        constants = [
            one for part in rule.repeat.parts for one in part.formulas or () if isinstance(one, Const)
        ]
        if rule.op is None and len(constants) >= MIN_IRREGULAR:
            first = next(events([rule]), rule)
            yield " at ".join([str(first.op), *map(clean, first.stack[:1])])
        yield from _irregular(rule.children)
