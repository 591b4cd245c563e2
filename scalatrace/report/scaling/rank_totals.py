"""Totals of a rank over the number of ranks: run time, computation, calls, messages, bytes, and predictions.

Counts and bytes do not depend on the machine, so their laws hold where ranks shared cores, too. Times do not:
time in MPI then is mostly waiting for cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, log

from scalatrace.report.scaling.recorded_growth import FACTORS, MIN_SIZES
from scalatrace.report.scaling.runs import ScalingRun
from scalatrace.report.style import coarse, coarse_duration, nbytes, number
from scalatrace.stats.forms import Points
from scalatrace.stats.interval_width import is_vague
from scalatrace.stats.normal_form import fit_normal_form

__all__ = ["MAX_NAMED_RATIO", "PredictedAmount", "RankTotal", "describe_prediction", "fit_rank_totals"]

MAX_CLOSE = 1.02
"""Upper over lower end of an interval, up to which the number stands for it."""

MAX_NAMED_RATIO = 10
"""Upper over lower end of the interval of an amount that sentences name."""

MAX_NAMED_SIZES = 2
"""Predicted numbers of ranks that the sentence names."""


@dataclass(frozen=True)
class PredictedAmount:
    """An amount on more ranks, with its interval of 95 %.

    Attributes:
        high: None: the runs set no limit.
        text: the number with its interval; or the interval alone, if it is wide.
        interval: as text; "": it is as close as the number.
    """

    nranks: int
    value: float
    low: float
    high: float | None
    text: str
    interval: str

    @property
    def is_known(self) -> bool:
        """Whether the interval is narrow enough to name it in a sentence."""
        return self.high is not None and self.high <= MAX_NAMED_RATIO * self.low


@dataclass(frozen=True)
class RankTotal:
    """An amount of a rank in all runs.

    Attributes:
        name: of it.
        texts: its values in the runs; "–": not known.
        formula: law over the number of ranks p; "": not fitted.
        predicted: beyond the runs; (): not fitted.
        note: what it contains besides, or why it is not predicted; "": nothing.
    """

    name: str
    texts: tuple[str, ...]
    formula: str = ""
    predicted: tuple[PredictedAmount, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class _Amount:
    name: str
    of_run: Callable[[ScalingRun], float | None]
    text: Callable[[float], str]
    is_time: bool = False


AMOUNTS = (
    _Amount("run time", lambda run: run.run_time_ns, coarse_duration, is_time=True),
    _Amount("computation", lambda run: run.compute_ns, coarse_duration, is_time=True),
    _Amount("calls", lambda run: run.calls, lambda n: number(coarse(n))),
    _Amount("messages sent", lambda run: run.messages, lambda n: number(coarse(n))),
    _Amount("bytes in messages", lambda run: run.bytes_sent, lambda n: nbytes(coarse(n))),
    _Amount("collective calls", lambda run: run.collectives, lambda n: number(coarse(n))),
)
CONTAINS_WAITING = "contains waiting for cores"
NOT_PREDICTED = f"not predicted: {CONTAINS_WAITING}"


def fit_rank_totals(runs: Sequence[ScalingRun]) -> list[RankTotal]:
    """Return the amounts of a rank; times are predicted from the runs with a core for each rank only.

    Args:
        runs: ascending by ranks.
    """
    rows = []
    shared = any(run.shared_cores for run in runs)
    for amount in AMOUNTS:
        values = [amount.of_run(run) for run in runs]
        if not any(values):
            continue
        known = [
            (run.nranks, value)
            for run, value in zip(runs, values, strict=True)
            if value is not None and not (amount.is_time and run.shared_cores)
        ]
        formula, predicted = _fit(known, runs[-1].nranks, amount.text)
        note = ""
        if shared and amount.is_time:
            note = CONTAINS_WAITING if predicted else NOT_PREDICTED
        texts = tuple("–" if value is None else amount.text(value) for value in values)
        rows.append(RankTotal(amount.name, texts, formula, predicted, note))
    return rows


def describe_prediction(runs: Sequence[ScalingRun], rows: Sequence[RankTotal]) -> str:
    """Return run time and work on the next numbers of ranks; where time is not known, why."""
    by_name = {row.name: row for row in rows if row.predicted}
    if not by_name:
        return f"More ranks are not predicted: a law needs {MIN_SIZES} runs or more."
    ranks = _listed([number(each.nranks) for each in _select_named(next(iter(by_name.values())))])
    known = {name for name, row in by_name.items() if all(each.is_known for each in _select_named(row))}
    if "run time" in known:
        return f"Predicted run time on {ranks} ranks: {_values(by_name['run time'])}."
    reason = (
        "not known: the runs set no narrow limit" if "run time" in by_name else _explain_missing_law(runs)
    )
    shown = [row for row in WORK if row[0] in known]
    work = [f"{verb} {_with_noun(_values(by_name[name]), noun)}" for name, verb, noun in shown]
    if not work:
        return f"Run time on {ranks} ranks is {reason}."
    return f"On {ranks} ranks, a rank would {_listed(work)}. Run time is {reason}."


def _explain_missing_law(runs: Sequence[ScalingRun]) -> str:
    reason = f"not predicted: that needs {MIN_SIZES} runs with a core for each rank"
    crowded = [number(run.nranks) for run in runs if run.shared_cores]
    if crowded:
        noun = "run" if len(crowded) == 1 else "runs"
        reason += f"; the {noun} on {_listed(crowded)} ranks had fewer cores than ranks"
    return reason


WORK = (
    ("computation", "compute", ""),
    ("messages sent", "send", "message"),
    ("collective calls", "make", "collective call"),
)
"""Amounts of the sentence, with verb and noun."""


def _with_noun(amount: str, noun: str) -> str:
    return f"{amount} {noun}{'' if amount == '1' else 's'}" if noun else amount


def _select_named(row: RankTotal) -> tuple[PredictedAmount, ...]:
    return row.predicted[:MAX_NAMED_SIZES]


def _values(row: RankTotal) -> str:
    texts = [each.interval or each.text for each in _select_named(row)]
    return texts[0] if len(set(texts)) == 1 else _listed(texts)


def _listed(words: Sequence[str]) -> str:
    """Return words as `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _fit(
    known: Sequence[tuple[int, float]], largest: int, text: Callable[[float], str]
) -> tuple[str, tuple[PredictedAmount, ...]]:
    positive = [(n, value) for n, value in known if value > 0]
    if len(positive) < MIN_SIZES:
        return "", ()
    curve = fit_normal_form(Points.of([n for n, _ in positive], [value for _, value in positive]))
    predicted = []
    for factor in FACTORS:
        n = factor * largest
        value, (low, high) = curve.predict(n), curve.interval(n)
        if len(positive) == MIN_SIZES:  # any curve of two terms may pass through three points
            simple = _simple_laws(positive[0], positive[-1], n)
            low, high = min(low, *simple), max(high, *simple)
        low, limit = max(low, 0.0), high if isfinite(high) else None
        interval = _interval(low, limit, text)
        wide = limit is None or is_vague(low, limit)
        shown = interval if wide else f"{text(value)} ({interval})" if interval else text(value)
        predicted.append(PredictedAmount(n, value, low, limit, shown, interval))
    return curve.formula, tuple(predicted)


def _simple_laws(first: tuple[int, float], last: tuple[int, float], n: int) -> tuple[float, float]:
    """Return the values at n of the logarithm and of the power of p that pass through two points."""
    (p, a), (q, b) = first, last
    steps = log(n / p) / log(q / p)
    return a + (b - a) * steps, a * (b / a) ** steps


def _interval(low: float, high: float | None, text: Callable[[float], str]) -> str:
    if high is None:
        return f"{text(low)} or more" if low > 0 else "not known"
    return "" if high <= MAX_CLOSE * low or text(low) == text(high) else f"{text(low)} to {text(high)}"
