"""Mean times as sums of terms over the number of ranks, for programs that evaluate them at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalatrace.extrap.timing.trends import State, Trends
from scalatrace.trace.model.symbolic import StatRule, SymbolicTrace
from scalatrace.trace.query.load import COMPUTE

if TYPE_CHECKING:
    from scalatrace.trace.values.histogram import Histogram

__all__ = ["TimeFormula", "time_formulas"]


@dataclass(frozen=True)
class TimeFormula:
    """A mean time as a function of P, the number of ranks.

    Attributes:
        histogram: of the largest trace, in nanoseconds.
        terms: (c, p, l) for c * P^p * log2(P)^l nanoseconds; empty: always the histogram's mean.
    """

    histogram: Histogram
    terms: tuple[tuple[float, float, int], ...] = ()


def time_formulas(
    model: SymbolicTrace, choice: str | None = None
) -> Callable[[StatRule], TimeFormula | None]:
    """Return the function that gives the time formula of a computation, None where nothing was measured.

    As in instantiated traces, a time without a function that the traces confirm is that of the largest trace.

    Raises:
        UsageError: no such timing model.
    """
    trends = Trends(model, choice)
    at = model.stat_index.get(COMPUTE)

    def formula(stat: StatRule) -> TimeFormula | None:
        trend = None if at is None else trends.trend("", stat.histograms, at)
        if at is None or trend is None:
            return None
        unit, last, curve = model.stats[at].resolution, trend.samples[max(trend.samples)], trend.curve
        if trend.state is not State.FOLLOWS:
            return TimeFormula(last.scaled(unit))
        factors = [term.factors[0] for term in curve.form.terms]
        terms = tuple(
            (c * unit, float(factor.power), factor.log)
            for c, factor in zip(curve.coefficients, factors, strict=True)
            if c
        )
        return TimeFormula(last.scaled(unit), terms)

    return formula
