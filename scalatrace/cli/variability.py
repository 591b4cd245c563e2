"""Predict how much longer the slowest rank computes on more ranks, by extreme values of interval maxima.

A bulk-synchronous program waits in each interval between synchronising calls for its slowest rank. The more
ranks, the later that one is. The input is a trace, whose interval maxima are drawn from its histograms, or a
table of measured times (--times). Methods after Dominguez-Trujillo (2021), chapter 3: a generalised extreme
value distribution fitted to the maxima (pooled), to those of each node or of each rank of a node (inter-node,
intra-node), and resampling of the maxima (resampled). Fewer than 10 intervals are resampled only.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scalatrace
from scalatrace.cli.named import SiteNames
from scalatrace.cli.output import add_formats, add_names, add_seed, natural, print_facts
from scalatrace.cli.progress import track
from scalatrace.errors import UsageError
from scalatrace.report.predictions.columns import SLOWEST

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.arrays import Floats


EXAMPLE = (
    "scalatrace variability app.st -P 1024 4096\n"
    "  scalatrace variability --times ftq.csv --ranks-per-node 4 -P 64 --fit mom"
)

RESAMPLED = "resampled"
METHODS = ("pooled", RESAMPLED, "inter-node", "intra-node")
"""The last two need the times of each rank."""

MIN_FITTED_INTERVALS = 10
"""Intervals to whose maxima a distribution is fitted; fewer are resampled."""

MIN_DRAWN_INTERVALS, MAX_DRAWN_INTERVALS = 30, 400
"""Intervals whose maxima are drawn from a trace; a multiple of those that it has, where these are few."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("trace", nargs="?", help="trace file (.st)")
    parser.add_argument(
        "--times", type=Path, metavar="CSV", help="seconds instead of a trace: a line per interval"
    )
    parser.add_argument(
        "-P", "--ranks", type=natural, nargs="+", required=True, metavar="N", help="numbers of ranks"
    )
    parser.add_argument("--method", choices=METHODS, nargs="+", help="default: all that the input allows")
    parser.add_argument(
        "--ranks-per-node", type=natural, metavar="N", help="with --times: for inter-node and intra-node"
    )
    parser.add_argument(
        "--fit", choices=("pwm", "mom"), default="pwm", help="fit of the distribution (default: pwm)"
    )
    add_seed(parser, "the draws")
    add_names(parser)
    add_formats(parser, SLOWEST)


def run(args: argparse.Namespace) -> int:
    """Collect interval maxima, project them, report."""
    from scalatrace.report.predictions.variability import VariabilityReporter

    if (args.trace is None) == (args.times is None):
        raise UsageError("give either a trace, or --times CSV")
    options = RankProjection(tuple(args.ranks), tuple(args.method or ()), args.fit, args.seed)
    data = _of_trace_file(args, options) if args.trace else _of_table(args, options)
    print_facts(args, data, SLOWEST, data["predictions"], VariabilityReporter(data))
    return 0


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


def _of_trace_file(args: argparse.Namespace, options: RankProjection) -> dict[str, Any]:

    if args.ranks_per_node or set(options.methods) - set(METHODS[:2]):
        raise UsageError("inter-node and intra-node need the times of each rank: use --times")
    trace = scalatrace.load(args.trace)
    data = of_trace(trace, options)
    if data is None:
        raise UsageError(f"{args.trace}: {_without_intervals(trace)}")
    return dict(SiteNames.of(trace, args.trace, args.names).facts(data))


def _without_intervals(trace: Trace) -> str:
    """Return why a trace has no intervals, and what to do."""
    from scalatrace.predict.variability import synchronises
    from scalatrace.trace.query.load import COMPUTE

    if COMPUTE not in trace.stat_index:
        return "the trace has no times; record it without --stats that leave them out"
    if not synchronises(trace):
        return (
            f"no call synchronises all {trace.nprocs:,} ranks (Barrier, Allreduce, … on a communicator "
            "that has them all): its ranks wait for messages only, which `scalatrace simulate` predicts"
        )
    return "nothing is computed between two calls that synchronise all ranks; record more steps"


def of_trace(trace: Trace, options: RankProjection) -> dict[str, Any] | None:
    """Return the intervals of a trace and the predictions as plain data; None: it has no intervals."""
    from scalatrace.predict.variability import intervals, maxima_of, spread_of_ranks
    from scalatrace.report.costs.phases import plain_phases
    from scalatrace.trace.query.load import COMPUTE
    from scalatrace.trace.threads import check_one_thread

    check_one_thread(trace, "find intervals of computation")
    listed = intervals(trace)
    if not listed:
        return None
    nranks, spread = len(trace.ranks), spread_of_ranks(trace)
    has_spread = trace.without_phases.has_load(COMPUTE)
    methods = _methods(options, max(computation.count for computation in listed))
    rows, predictions = [], []
    for number, computation in enumerate(track(listed, "intervals")):
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
        "phases": plain_phases(trace.phases),
        "intervals": rows,
        "min_fitted_intervals": MIN_FITTED_INTERVALS,
        "total_ns": sum(row["count"] * row["slowest_ns"] for row in rows),
        "predictions": _sum_predictions(predictions),
    }


def _of_table(args: argparse.Namespace, options: RankProjection) -> dict[str, Any]:
    from scalatrace.predict.variability import read_times

    times = read_times(args.times) * 1e9
    count, nranks = times.shape
    per_node = args.ranks_per_node
    if per_node and nranks % per_node:
        raise UsageError(f"--ranks-per-node {per_node}: the table has {nranks} ranks, which is no multiple")
    maxima = times.max(axis=1)
    row = _interval("measured", str(args.times), count, float(times.mean()), maxima)
    cube = times.reshape(count, -1, per_node) if per_node else None
    totals = times.mean(axis=0)
    intervals = _project_interval(
        options, _methods(options, count, cube is not None), maxima, nranks, count, cube
    )
    return {
        "nranks": nranks,
        "spread": float(totals.std(ddof=1) / totals.mean()) if nranks > 1 and totals.mean() else 0.0,
        "intervals": [row],
        "min_fitted_intervals": MIN_FITTED_INTERVALS,
        "total_ns": count * row["slowest_ns"],
        "predictions": _sum_predictions([[(count, interval) for interval in intervals]]),
    }


def _interval(op: str, site: str, count: int, mean_ns: float, maxima: Floats) -> dict[str, Any]:
    from scalatrace.stats.extreme_values import FITS, fit_gev, fits_agree

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
    from scalatrace.stats import bootstrap

    rows = []
    for target in options.ranks:
        if target < nranks:
            raise UsageError(f"-P {target}: fewer ranks than the {nranks} of the input")
        for name in methods:
            if name == RESAMPLED or count < MIN_FITTED_INTERVALS:
                many = {"intervals": count, "replicas": 200}
                interval = bootstrap.non_parametric(maxima, round(target / nranks), options.seed, **many)
            elif name == "pooled":
                interval = bootstrap.pooled(maxima, target / nranks, options.fit, options.seed)
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
