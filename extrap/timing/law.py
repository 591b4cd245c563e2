"""Mean times as sums of terms over the number of ranks, for programs that evaluate them at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from scalatrace.extrap.timing.curves.registry import timing_model
from scalatrace.extrap.timing.joint import mean_points
from scalatrace.extrap.timing.rules import FEWEST, by_ranks, least_totals
from scalatrace.trace.model.rules import Model, StatRule, histograms

if TYPE_CHECKING:
    from scalatrace.trace.values.histogram import Histogram

__all__ = ["Law", "laws"]

COMPUTE = "compute_ns"


@dataclass(frozen=True)
class Law:
    """A mean time.

    Attributes:
        histogram: of the largest trace, in nanoseconds.
        terms: (c, p, l) for c * P^p * log2(P)^l nanoseconds; empty: always the histogram's mean.
    """

    histogram: Histogram
    terms: tuple[tuple[float, float, int], ...] = ()


def laws(model: Model, choice: str | None = None) -> Callable[[StatRule], Law | None]:
    """The laws of a symbolic trace's computations; None where nothing was measured.

    As when a trace is made of it: what has samples in one trace only, or hardly any part in the time, stays.

    Raises:
        TimingError: no such timing model.
    """
    chosen = timing_model(choice)
    at = next((i for i, (name, _) in enumerate(model.stats) if name == COMPUTE), None)
    ranks = [prod(dims) for dims, _ in model.seen]
    least = least_totals(histograms(model))

    def law(stat: StatRule) -> Law | None:
        found = by_ranks(stat.histograms, ranks, at) if at is not None else {}
        if at is None or not found:
            return None
        unit, last = model.stats[at][1], found[max(found)]
        if len(found) < FEWEST or abs(last.total) < least.get(at, 0.0):
            return Law(last.scaled(unit))
        curve = chosen.fit([mean_points(list(found.values()), list(found))])[0]
        factors = [term.factors[0] for term in curve.form.terms]
        terms = tuple(
            (c * unit, float(factor.power), factor.log)
            for c, factor in zip(curve.coefficients, factors, strict=True)
            if c
        )
        return Law(last.scaled(unit), terms)

    return law
