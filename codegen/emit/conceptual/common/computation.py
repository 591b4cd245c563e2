"""Times of computations in whole microseconds: means, formulas of the number of tasks, random draws.

A histogram becomes alternatives: with the probability of its bin, a time that is evenly distributed about the
bin's mean. Each alternative draws its own random number, so it has its share of what the previous ones leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common.expr_writer import integer, total
from scalatrace.codegen.program.tree import Duration
from scalatrace.trace.values.histogram import Bin

__all__ = ["ZERO", "draw", "drawn_sum", "mean_sum"]

ZERO = t.Integer(0)
_RESOLUTION = 1_000_000
"""Probabilities are multiples of 1 / RESOLUTION."""
_TASKS = t.Variable("num_tasks")


def mean_sum(durations: Sequence[Duration]) -> t.Expr:
    """Return the sum of the durations' means."""
    terms = [_clock(duration) for duration in durations if _varies(duration)]
    ns = sum(
        sum(c for c, _, _ in duration.law) if duration.law else duration.ns
        for duration in durations
        if not _varies(duration)
    )
    fixed = integer(round(ns / 1000))
    return total([*terms, fixed] if fixed != ZERO or not terms else terms)


def _varies(duration: Duration) -> bool:
    """Return whether a time depends on the number of tasks."""
    return any(power or log for _, power, log in duration.law)


def _clock(duration: Duration) -> t.Expr:
    """Return a time as a formula of the number of tasks, whose terms are integers of nanoseconds."""
    nanoseconds: t.Expr | None = None
    for c, power, log in duration.law:
        term = _term(abs(round(c)), power, log)
        if nanoseconds is None and c >= 0:
            nanoseconds = term
        else:
            nanoseconds = t.BinaryOperation("-" if c < 0 else "+", nanoseconds or ZERO, term)
    assert nanoseconds is not None
    return t.FunctionCall("MAX", (ZERO, t.Real(t.BinaryOperation("/", nanoseconds, t.Integer(1000)))))


def _term(factor: int, power: float, log: int) -> t.Expr:
    """Return factor * num_tasks ** power * log2(num_tasks) ** log."""
    term: t.Expr = t.Integer(factor)
    if power:
        term = t.BinaryOperation("*" if power > 0 else "/", term, _raise_to_power(abs(power)))
    for _ in range(log):
        term = t.BinaryOperation("/", t.BinaryOperation("*", term, _log10(_TASKS)), _log10(t.Integer(2)))
    return term


def _log10(e: t.Expr) -> t.Expr:
    return t.FunctionCall("LOG10", (e,))


def _raise_to_power(power: float) -> t.Expr:
    """Return num_tasks to a positive power, a fraction with a small denominator."""
    fraction = Fraction(power).limit_denominator(12) if power != int(power) else Fraction(int(power))
    raised: t.Expr = _TASKS
    if fraction.numerator != 1:
        raised = t.BinaryOperation("**", _TASKS, t.Integer(fraction.numerator))
    if fraction.denominator == 1:
        return raised
    return t.FunctionCall("ROOT", (t.Integer(fraction.denominator), raised))


def drawn_sum(durations: Sequence[Duration]) -> t.Expr:
    """Return the sum of a draw from each duration."""
    return total([draw(duration) for duration in durations])


def draw(duration: Duration) -> t.Expr:
    """Return an expression that draws another time whenever it is evaluated."""
    if duration.histogram is None:
        return mean_sum([duration])
    bins = [b for b in duration.histogram.drawn_bins if b.count]
    return _alternatives(sorted(bins, key=lambda b: -b.count), sum(b.count for b in bins))


def _alternatives(bins: Sequence[Bin], count: int) -> t.Expr:
    first, *later = bins
    if not later:
        return _within(first)
    share = min(_RESOLUTION - 1, max(1, round(_RESOLUTION * first.count / count)))
    alternatives = _alternatives(later, count - first.count)
    return t.Conditional(
        _within(first), t.NumberComparison("<", _uniform(0, _RESOLUTION), t.Integer(share)), alternatives
    )


def _within(b: Bin) -> t.Expr:
    """Return a time of a bin, as far above its mean as below."""
    spread = min(b.mean - b.min, b.max - b.mean)
    low, high = round((b.mean - spread) / 1000), round((b.mean + spread) / 1000)
    return _uniform(low, high + 1) if high > low else t.Integer(low)


def _uniform(low: int, stop: int) -> t.Expr:
    return t.FunctionCall("RANDOM_UNIFORM", (t.Integer(low), t.Integer(stop)))
