"""Predict how much longer the slowest rank computes on more ranks, by extreme values of interval maxima.

A bulk-synchronous program waits in each interval between synchronising calls for its slowest rank. The more
ranks, the later that one is. The input is a trace, whose interval maxima are drawn from its histograms, or a
table of measured times (--times). Methods after Dominguez-Trujillo (2021), chapter 3: a generalised extreme
value distribution fitted to the maxima (pooled), to those of each node or of each rank of a node (inter-node,
intra-node), and resampling of the maxima (resampled). Fewer than 10 intervals are resampled only.
"""

from __future__ import annotations

import argparse
from functools import partial
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
    from scalatrace.predict.variability.projection import RankProjection


EXAMPLE = (
    "scalatrace variability app.st -P 1024 4096\n"
    "  scalatrace variability --times ftq.csv --ranks-per-node 4 -P 64 --fit mom"
)

METHODS = ("pooled", "resampled", "inter-node", "intra-node")
"""Those of `scalatrace.predict.variability.projection`; the last two need the times of each rank."""


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
    from scalatrace.predict.variability.projection import RankProjection
    from scalatrace.report.predictions.variability import VariabilityReporter

    if (args.trace is None) == (args.times is None):
        raise UsageError("give either a trace, or --times CSV")
    options = RankProjection(tuple(args.ranks), tuple(args.method or ()), args.fit, args.seed)
    data = _of_trace_file(args, options) if args.trace else _of_table(args, options)
    print_facts(args, data, SLOWEST, data["predictions"], VariabilityReporter(data))
    return 0


def _of_trace_file(args: argparse.Namespace, options: RankProjection) -> dict[str, Any]:
    from scalatrace.predict.variability.projection import project_trace
    from scalatrace.report.costs.phases import plain_phases

    if args.ranks_per_node or set(options.methods) - set(METHODS[:2]):
        raise UsageError("inter-node and intra-node need the times of each rank: use --times")
    trace = scalatrace.load(args.trace)
    data = project_trace(trace, options, partial(track, text="intervals"))
    if data is None:
        raise UsageError(f"{args.trace}: {_without_intervals(trace)}")
    head = {"nranks": data["nranks"], "spread": data["spread"], "phases": plain_phases(trace.phases)}
    return dict(SiteNames.of(trace, args.trace, args.names).facts({**head, **data}))


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


def _of_table(args: argparse.Namespace, options: RankProjection) -> dict[str, Any]:
    from scalatrace.predict.variability import read_times
    from scalatrace.predict.variability.projection import project_table

    return project_table(read_times(args.times) * 1e9, str(args.times), options, args.ranks_per_node)
