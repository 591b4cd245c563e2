"""Growth of what a rank does in all: run time, computation, calls, messages and their bytes, on more ranks.

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

__all__ = ["PredictedAmount", "WholeGrowth", "beyond_sentence", "whole_growth"]

MAX_CLOSE = 1.02
"""Upper over lower end of an interval, up to which the number stands for it."""

SAID = 2
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


@dataclass(frozen=True)
class WholeGrowth:
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
    _Amount("computation", lambda run: run.compute_ns, coarse_duration),
    _Amount("calls", lambda run: run.calls, lambda n: number(coarse(n))),
    _Amount("messages sent", lambda run: run.messages, lambda n: number(coarse(n))),
    _Amount("bytes in messages", lambda run: run.bytes_sent, lambda n: nbytes(coarse(n))),
    _Amount("collective calls", lambda run: run.collectives, lambda n: number(coarse(n))),
)
WITH_CORES = "contains waiting for cores"
OFF_CORES = "mostly waiting for cores"


def whole_growth(runs: Sequence[ScalingRun]) -> list[WholeGrowth]:
    """Return the amounts of a rank; run times are predicted from the runs with a core for each rank only.

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
            note = WITH_CORES if predicted else OFF_CORES
        elif shared and amount.name == "computation":
            note = WITH_CORES
        texts = tuple("–" if value is None else amount.text(value) for value in values)
        rows.append(WholeGrowth(amount.name, texts, formula, predicted, note))
    return rows


def beyond_sentence(runs: Sequence[ScalingRun], rows: Sequence[WholeGrowth]) -> str:
    """Return run time and work on the next numbers of ranks; where time is not known, why."""
    by_name = {row.name: row for row in rows if row.predicted}
    if not by_name:
        return f"More ranks are not predicted: a law needs {MIN_SIZES} runs or more."
    ranks = " and ".join(number(each.nranks) for each in next(iter(by_name.values())).predicted[:SAID])
    if "run time" in by_name:
        return f"On {ranks} ranks the run time would be {_values(by_name['run time'])}."
    crowded = [number(run.nranks) for run in runs if run.shared_cores]
    why = f"a law of it needs {MIN_SIZES} runs with a core for each rank"
    if crowded:
        why += f", and those on {_listed(crowded)} ranks had more ranks than cores"
    work = [f"{verb} {_values(by_name[name])}{noun}" for name, verb, noun in WORK if name in by_name]
    return f"On {ranks} ranks, a rank would {_listed(work)}. Run time is not predicted: {why}."


WORK = (
    ("computation", "compute", ""),
    ("messages sent", "send", " messages"),
    ("collective calls", "make", " collective calls"),
)
"""Amounts of the sentence, with verb and noun."""


def _values(row: WholeGrowth) -> str:
    texts = [each.interval or each.text for each in row.predicted[:SAID]]
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
