"""Growth of the times of call sites in recorded runs: laws over the ranks, and what dominates beyond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from scalatrace.report.costs.rows import timed_by_node
from scalatrace.stats.forms import Points
from scalatrace.stats.interval_width import is_vague
from scalatrace.stats.normal_form import fit_normal_form
from scalatrace.trace.model.trace import Trace

__all__ = ["COMPUTATION", "IN_MPI", "GrowingTime", "growing_times", "times_of_sites"]

IN_MPI, COMPUTATION = "in MPI", "computation before"


FACTORS = (2, 4, 16)
"""Times of the largest number of ranks for which times are predicted."""

MIN_SIZES = 3
"""Runs from which on a law is fitted."""

MIN_SHARE, MAX_ROWS = 0.005, 24
"""Part of the time of a run, or of a predicted one, from which on a row is listed; rows that are."""

Key = tuple[str, str, str]
"""Kind, operation and call site."""


@dataclass(frozen=True)
class PredictedTime:
    """A time on more ranks, with its interval of 95 %; ns, mean of the ranks.

    Attributes:
        high_ns: None: the runs set no limit.
        vague: the interval is too wide for the time to be stated.
    """

    nranks: int
    ns: float
    low_ns: float
    high_ns: float | None
    vague: bool
    share: float


@dataclass(frozen=True)
class GrowingTime:
    """The time of a call site, or the computation before it, in all runs.

    Attributes:
        ns: mean of the ranks, in each run.
        formula: fitted law in ns over the number of ranks p; "": not fitted.
        error: how far the law is off its points, as a part of them.
        predicted: beyond the runs; (): not fitted.
    """

    kind: str
    op: str
    site: str
    ns: tuple[float, ...]
    formula: str = ""
    error: float | None = None
    predicted: tuple[PredictedTime, ...] = ()


def times_of_sites(trace: Trace) -> dict[Key, float]:
    """Return mean times of a rank in ns, by kind, operation and call site."""
    trace = trace.without_phases
    n, times = len(trace.ranks), dict[Key, float]()
    for row in timed_by_node(trace, "site"):
        op, site = row.key
        for kind, ns in ((IN_MPI, row.comm_ns), (COMPUTATION, row.compute_ns)):
            if ns:
                times[kind, op, site] = times.get((kind, op, site), 0.0) + ns / n
    return times


def growing_times(
    ranks: Sequence[int], times: Sequence[Mapping[Key, float]], usable: Sequence[bool]
) -> tuple[list[GrowingTime], int]:
    """Return the times that count, and how many are not listed; the largest beyond the runs come first.

    Those without a law come last.

    Args:
        ranks: of the runs, ascending.
        times: of each run, as `times_of_sites`.
        usable: whether laws are fitted to a run: not where ranks waited for cores.
    """
    keys = dict.fromkeys(key for of_run in times for key in of_run)
    fits = [(n, of_run) for n, of_run, fit in zip(ranks, times, usable, strict=True) if fit]
    fitted = {
        key: _fit([(n, of_run.get(key, 0.0)) for n, of_run in fits], [f * ranks[-1] for f in FACTORS])
        for key in keys
    }
    totals = [sum(of_run.values()) or 1.0 for of_run in times]
    beyond = [sum(law[2][i][0] for law in fitted.values() if law) or 1.0 for i in range(len(FACTORS))]
    rows = []
    for key in keys:
        ns, law = tuple(of_run.get(key, 0.0) for of_run in times), fitted[key]
        formula, error, predicted = law or ("", None, [])
        shown = tuple(
            PredictedTime(
                factor * ranks[-1],
                value,
                low,
                high if isfinite(high) else None,
                is_vague(low, high),
                value / whole,
            )
            for factor, (value, low, high), whole in zip(FACTORS, predicted, beyond, strict=False)
        )
        shares = [
            *(each / total for each, total in zip(ns, totals, strict=True)),
            *(each.share for each in shown),
        ]
        if max(shares) >= MIN_SHARE:
            rows.append(GrowingTime(*key, ns, formula, error, shown))
    rows.sort(key=lambda row: (not row.predicted, -(row.predicted[-1].ns if row.predicted else row.ns[-1])))
    return rows[:MAX_ROWS], len(keys) - len(rows[:MAX_ROWS])


def _fit(
    points: Sequence[tuple[int, float]], targets: Sequence[int]
) -> tuple[str, float, list[tuple[float, float, float]]] | None:
    """Return formula, error, and values with intervals at targets; None: too few runs have the time."""
    known = [(n, value) for n, value in points if value > 0]
    if len(known) < MIN_SIZES:
        return None
    curve = fit_normal_form(Points.of([n for n, _ in known], [value for _, value in known]))
    error = max(abs(curve.predict(n) / value - 1) for n, value in known)
    return curve.formula, error, [(curve.predict(n), *curve.interval(n)) for n in targets]
