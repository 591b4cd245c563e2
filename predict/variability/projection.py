"""Project the interval maxima of a trace, or of measured times, to more ranks, as plain data.

Methods after Dominguez-Trujillo (2021), chapter 3: a generalised extreme value distribution fitted to the
maxima (pooled), to those of each node or of each rank of a node (inter-node, intra-node), and resampling of
the maxima.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.predict.variability.intervals import intervals
from scalatrace.predict.variability.maxima import maxima_of, spread_of_ranks
from scalatrace.stats import bootstrap
from scalatrace.stats.extreme_values import FITS, fit_gev, fits_agree
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMPUTE
from scalatrace.trace.threads import check_one_thread

__all__ = ["METHODS", "RankProjection", "project_table", "project_trace"]

Track = Callable[[Sequence[Any]], Iterable[Any]]

RESAMPLED = "resampled"
METHODS = ("pooled", RESAMPLED, "inter-node", "intra-node")
"""The last two need the times of each rank."""

MIN_FITTED_INTERVALS = 10
"""Intervals to whose maxima a distribution is fitted; fewer are resampled."""

MIN_DRAWN_INTERVALS, MAX_DRAWN_INTERVALS = 30, 400
"""Intervals whose maxima are drawn from a trace; a multiple of those that it has, where these are few."""


@dataclass(frozen=True)
class RankProjection:
    """Numbers of ranks to predict for, and how.

    Attributes:
        methods: of METHODS; empty: all that the input allows.
        fit: "pwm" or "mom".
        seed: of the draws.
    """

    ranks: tuple[int, ...]
    methods: tuple[str, ...] = ()
    fit: str = "pwm"
    seed: int = 0


def project_trace(
    trace: Trace, options: RankProjection, track: Track = lambda items: items
) -> dict[str, Any] | None:
    """Return the intervals of a trace and the predictions as plain data; None: it has no intervals.

    Args:
        track: wraps the intervals while they are projected, such as to show progress.

    Raises:
        UsageError: a method or a number of ranks does not fit the trace.
        ScalatraceError: several threads of a rank make calls.
    """
    check_one_thread(trace, "find intervals of computation")
    listed = intervals(trace)
    if not listed:
        return None
    nranks, spread = len(trace.ranks), spread_of_ranks(trace)
    has_spread = trace.without_phases.has_load(COMPUTE)
    methods = _methods(options, max(computation.count for computation in listed))
    rows, predictions = [], []
    for number, computation in enumerate(track(listed)):
        drawn = min(computation.count * -(-MIN_DRAWN_INTERVALS // computation.count), MAX_DRAWN_INTERVALS)
        maxima = maxima_of(computation, nranks, spread, drawn, options.seed + number)
        site = computation.stack[0] if computation.stack else ""
        rows.append(_interval(computation.op, site, computation.count, computation.mean_ns, maxima))
        projection = _project_interval(options, methods, maxima, nranks, computation.count)
        predictions.append([(computation.count, interval) for interval in projection])
    rows.sort(key=lambda row: -row["count"] * row["slowest_ns"])
    return {
        "nranks": nranks,
        "spread": spread if has_spread else None,
        "intervals": rows,
        "min_fitted_intervals": MIN_FITTED_INTERVALS,
        "total_ns": sum(row["count"] * row["slowest_ns"] for row in rows),
        "predictions": _sum_predictions(predictions),
    }


def project_table(
    times_ns: Floats, source: str, options: RankProjection, ranks_per_node: int | None = None
) -> dict[str, Any]:
    """Return as `project_trace` the predictions of measured times.

    Args:
        times_ns: [intervals, ranks].
        source: where they are from.
        ranks_per_node: for methods that take nodes apart.

    Raises:
        UsageError: a method or a number of ranks does not fit the times.
    """
    count, nranks = times_ns.shape
    if ranks_per_node and nranks % ranks_per_node:
        raise UsageError(
            f"--ranks-per-node {ranks_per_node}: the table has {nranks} ranks, which is no multiple"
        )
    maxima = times_ns.max(axis=1)
    row = _interval("measured", source, count, float(times_ns.mean()), maxima)
    cube = times_ns.reshape(count, -1, ranks_per_node) if ranks_per_node else None
    totals = times_ns.mean(axis=0)
    projected = _project_interval(
        options, _methods(options, count, cube is not None), maxima, nranks, count, cube
    )
    return {
        "nranks": nranks,
        "spread": float(totals.std(ddof=1) / totals.mean()) if nranks > 1 and totals.mean() else 0.0,
        "intervals": [row],
        "min_fitted_intervals": MIN_FITTED_INTERVALS,
        "total_ns": count * row["slowest_ns"],
        "predictions": _sum_predictions([[(count, interval) for interval in projected]]),
    }


def _interval(op: str, site: str, count: int, mean_ns: float, maxima: Floats) -> dict[str, Any]:
    fitted = {method: fit_gev(maxima, method) for method in FITS if count >= MIN_FITTED_INTERVALS}
    fits = {
        method: {name: getattr(fit, name) for name in ("shape", "location", "scale", "kind")}
        for method, fit in fitted.items()
    }
    return {
        "op": op, "site": site, "count": count, "mean_ns": mean_ns,
        "slowest_ns": float(maxima.mean()), "fits": fits,
        "fits_agree": fits_agree(fitted.values(), len(maxima)) if fitted else None,
    }  # fmt: skip


def _methods(options: RankProjection, count: int, has_nodes: bool = False) -> list[str]:
    """Return the methods to use; those that fit a distribution only if a call ends enough intervals.

    Args:
        count: largest number of intervals that end with the same call.
    """
    possible = list(METHODS if has_nodes else METHODS[:2])
    chosen = list(options.methods or possible)
    if missing := [name for name in chosen if name not in possible]:
        raise UsageError(f"--method {missing[0]} needs --times and --ranks-per-node")
    if count >= MIN_FITTED_INTERVALS:
        return chosen
    if fitting := [name for name in options.methods if name != RESAMPLED]:
        raise UsageError(
            f"--method {fitting[0]} fits a distribution to {MIN_FITTED_INTERVALS} intervals or more that end "
            f"with the same call; here are {count}: use --method {RESAMPLED}, or record more steps"
        )
    return [RESAMPLED]


def _project_interval(
    options: RankProjection,
    methods: Sequence[str],
    maxima: Floats,
    nranks: int,
    count: int,
    cube: Floats | None = None,
) -> list[dict[str, Any]]:
    """Return the prediction of one interval by each method, for each number of ranks."""
    rows = []
    for target in options.ranks:
        if target < nranks:
            raise UsageError(f"-P {target}: fewer ranks than the {nranks} of the input")
        for name in methods:
            if name == RESAMPLED or count < MIN_FITTED_INTERVALS:
                many = {"intervals": count, "replicas": 200}
                interval = bootstrap.non_parametric(maxima, round(target / nranks), options.seed, **many)
            elif name == "pooled":
                interval = bootstrap.pooled(
                    maxima, target / nranks, options.fit, options.seed, intervals=count
                )
            elif name == "inter-node":
                assert cube is not None
                interval = bootstrap.inter_node(cube, target / cube.shape[2], options.fit, options.seed)
            else:
                assert cube is not None
                interval = bootstrap.intra_node(cube, target, options.fit, options.seed)
            rows.append({"method": name, "nranks": target, "interval": interval})
    return rows


def _sum_predictions(predictions: list[list[tuple[int, dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Add up the predictions of all intervals; their bounds, too, since ranks may be slow in all of them."""
    summed: dict[tuple[str, int], dict[str, Any]] = {}
    for counted in predictions:
        for count, prediction in counted:
            start = {
                "method": prediction["method"],
                "nranks": prediction["nranks"],
                "median_ns": 0.0,
                "low_ns": 0.0,
                "high_ns": 0.0,
            }
            row = summed.setdefault((prediction["method"], prediction["nranks"]), start)
            for name in ("median", "low", "high"):
                row[f"{name}_ns"] += count * getattr(prediction["interval"], name)
    return list(summed.values())
