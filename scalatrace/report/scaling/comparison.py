"""Runs on several numbers of ranks, compared: speed-up, efficiencies, growth, and what dominates beyond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from scalatrace.report.scaling.rank_totals import (
    MAX_NAMED_RATIO,
    RankTotal,
    describe_prediction,
    fit_rank_totals,
)
from scalatrace.report.scaling.recorded_growth import COMPUTATION, GrowingTime, growing_times, times_of_sites
from scalatrace.report.scaling.runs import (
    ScalingKind,
    ScalingRun,
    check_sizes,
    do_same_steps,
    efficiency_rows,
    kind_of_scaling,
    scaling_run,
)
from scalatrace.report.style import coarse, coarse_duration, coarse_percent, number
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.views import ideal_time_ns

__all__ = [
    "EFFICIENCIES",
    "Scaling",
    "scaling_of",
    "scaling_of_traces",
    "speedup_name",
]

FACTORS_OF_EFFICIENCY = (
    ("load_balance", "serialisation", "transfer", "computation_scalability"),
    ("load_balance", "communication_efficiency", "computation_scalability"),
    ("parallel_efficiency", "computation_scalability"),
    ("parallel_efficiency",),
)
"""Factors whose product is the efficiency: as far divided as they are known."""

NAMES = {
    "parallel_efficiency": "parallel efficiency",
    "load_balance": "load balance",
    "communication_efficiency": "communication efficiency",
    "serialisation": "serialisation",
    "transfer": "transfer",
    "computation_scalability": "computation scalability",
}

EFFICIENCIES = (
    (0, "global_efficiency", "global efficiency"),
    (1, "parallel_efficiency", NAMES["parallel_efficiency"]),
    (2, "load_balance", NAMES["load_balance"]),
    (2, "communication_efficiency", NAMES["communication_efficiency"]),
    (3, "serialisation", NAMES["serialisation"]),
    (3, "transfer", NAMES["transfer"]),
    (1, "computation_scalability", NAMES["computation_scalability"]),
)
"""Lines of the table of efficiencies: depth, column of `efficiency_rows`, text. Each is the product of those
below it that are one level deeper."""

NOT_COMPARABLE = "More ranks are not predicted: the runs may not do the same steps."

MAX_LOSS_RATIO = 0.98
"""Ratio of an efficiency to that of the smallest run up to which it has fallen."""


@dataclass(frozen=True)
class Scaling:
    """Runs on several numbers of ranks.

    Attributes:
        efficiencies: a row for each run, as `efficiency_rows`.
        totals: amounts of a rank in all its calls.
        growth: times of call sites and computations that count; `hidden` more do not.
        predicted_ranks: numbers of ranks of the predicted amounts; (): too few runs.
        sentences: the result, and what dominates beyond.
        notes: what speaks against comparing the runs.
    """

    runs: tuple[ScalingRun, ...]
    kind: ScalingKind
    efficiencies: tuple[dict[str, float | None], ...]
    totals: tuple[RankTotal, ...]
    growth: tuple[GrowingTime, ...]
    hidden: int
    predicted_ranks: tuple[int, ...]
    sentences: tuple[str, ...]
    notes: tuple[str, ...]


def scaling_of(
    runs: Sequence[ScalingRun],
    times: Sequence[Mapping[tuple[str, str, str], float]],
    weak: bool | None = None,
) -> Scaling:
    """Compare runs.

    Args:
        times: of each run, as `times_of_sites`.
        weak: the work of a rank is the same in all runs; None: judged.

    Raises:
        UsageError: two runs have the same number of ranks.
    """
    order = sorted(range(len(runs)), key=lambda i: runs[i].nranks)
    runs, times = [runs[i] for i in order], [times[i] for i in order]
    check_sizes(runs)
    kind = kind_of_scaling(runs) if weak is None else ScalingKind("weak" if weak else "strong", "as given")
    rows = efficiency_rows(runs, kind.name == "weak")
    usable = [not run.shared_cores for run in runs]
    growth, hidden = growing_times([run.nranks for run in runs], times, usable)
    is_comparable = weak is not None or do_same_steps(runs)
    totals = fit_rank_totals(runs) if is_comparable else []
    predicted = next((row.predicted for row in totals if row.predicted), ())
    beyond = [describe_prediction(runs, totals), *_beyond(growth)] if is_comparable else [NOT_COMPARABLE]
    sentences = [_result(runs, rows, kind, is_comparable), *beyond]
    return Scaling(
        tuple(runs), kind, tuple(rows), tuple(totals), tuple(growth), hidden,
        tuple(each.nranks for each in predicted), tuple(sentences), tuple(_notes(runs)),
    )  # fmt: skip


def scaling_of_traces(traces: Sequence[tuple[str, Trace]], weak: bool | None = None) -> Scaling:
    """Compare the runs of some traces.

    Args:
        traces: each with its name.
        weak: as in `scaling_of`.

    Raises:
        UsageError: two have the same number of ranks, or one has no times.
    """
    runs = [scaling_run(trace, name, ideal_time_ns(trace)) for name, trace in traces]
    return scaling_of(runs, [times_of_sites(trace) for _, trace in traces], weak)


def speedup_name(kind: ScalingKind) -> str:
    """Return what the speed-up of runs is called."""
    return "scaled speed-up" if kind.name == "weak" else "speed-up"


def _result(
    runs: Sequence[ScalingRun],
    rows: Sequence[Mapping[str, float | None]],
    kind: ScalingKind,
    is_comparable: bool,
) -> str:
    """Return speed-up and the factor that limits it, in one sentence."""
    first, last = runs[0], runs[-1]
    times = f"{coarse_duration(first.run_time_ns)} to {coarse_duration(last.run_time_ns)}"
    text = f"From {number(first.nranks)} to {number(last.nranks)} ranks the run time goes from {times}"
    if not kind.name:
        return f"{text}."
    speedup, efficiency = (rows[-1][name] or 0.0 for name in ("speedup", "efficiency"))
    provided = "" if is_comparable else ", if all do the same steps"
    text += (
        f": {speedup_name(kind)} {coarse(speedup):g} of {coarse(last.nranks / first.nranks):g}, "
        f"{coarse_percent(efficiency)} of perfect scaling{provided}."
    )
    shortest = min(runs, key=lambda run: run.run_time_ns)
    if kind.name == "strong" and shortest is not last:
        text += (
            f" It is shortest on {number(shortest.nranks)} ranks, {coarse_duration(shortest.run_time_ns)}."
        )
    losses = _losses(rows)
    if not losses or first.shared_cores or last.shared_cores:
        return text
    name = losses[0]
    before, now = (coarse_percent(rows[i][name] or 0.0) for i in (0, -1))
    fallen = f"{NAMES[name][0].upper()}{NAMES[name][1:]} falls most: {before} on {number(first.nranks)} ranks"
    return f"{text} {fallen}, {now} on {number(last.nranks)}."


def _losses(rows: Sequence[Mapping[str, float | None]]) -> list[str]:
    """Return the factors of the efficiency that fell, most first, over those of the smallest run."""
    known = {name for name in NAMES if rows[0][name] and rows[-1][name] is not None}
    names = next(names for names in FACTORS_OF_EFFICIENCY if known.issuperset(names) or len(names) == 1)
    ratios = {name: (rows[-1][name] or 0.0) / (rows[0][name] or 1.0) for name in names if name in known}
    return sorted((name for name in ratios if ratios[name] < MAX_LOSS_RATIO), key=lambda name: ratios[name])


def _beyond(growth: Sequence[GrowingTime]) -> list[str]:
    """Return what takes most time on the most ranks that are predicted."""
    fitted = [row for row in growth if row.predicted]
    if not fitted:
        return []
    row, far = fitted[0], fitted[0].predicted[-1]
    high_ns = inf if far.high_ns is None else far.high_ns
    if far.vague and high_ns > MAX_NAMED_RATIO * far.low_ns:
        return [f"What takes most time on {number(far.nranks)} ranks cannot be predicted from these runs."]
    place = f"the computation before {row.op}" if row.kind == COMPUTATION else row.op
    site = f" {short_frame(row.site)}" if row.site else ""
    time = coarse_duration(far.ns)
    if far.vague:
        time = f"{coarse_duration(far.low_ns)} to {coarse_duration(high_ns)}"
    rivals = [other.predicted[-1].high_ns for other in fitted[1:]]
    certain = all(high is not None and high < far.low_ns for high in rivals)
    takes = f"{'would' if certain else 'may'} take most: {time} of a rank"
    share = f"{coarse_percent(far.share)} of the predicted times of all calls and computations"
    return [f"On {number(far.nranks)} ranks, {place}{site} {takes}, {share}."]


def _notes(runs: Sequence[ScalingRun]) -> list[str]:
    """Return what speaks against comparing the runs."""
    notes = []
    shared = [number(run.nranks) for run in runs if run.shared_cores]
    if shared:
        notes.append(
            f"more ranks than cores ({', '.join(shared)} ranks): these times, computation too, contain "
            "waiting for cores, so their serialisation and transfer are not known"
        )
    unknown = [number(run.nranks) for run in runs if not run.cores_known]
    if unknown:
        notes.append(
            f"the number of cores was not recorded ({', '.join(unknown)} ranks): whether ranks shared "
            "them, so that times contain waiting for cores, is not known"
        )
    if any(run.extrapolated for run in runs):
        names = ", ".join(run.name for run in runs if run.extrapolated)
        notes.append(f"extrapolated, not measured: {names}")
    if len({run.most_compute_ns is None for run in runs}) > 1:
        notes.append("run times of some runs are those of the longest rank, of others means of the ranks")
    programs = {run.program.split(" ")[0] for run in runs}
    if len(programs) > 1:
        notes.append(f"different programs: {', '.join(sorted(programs))}")
    return notes
