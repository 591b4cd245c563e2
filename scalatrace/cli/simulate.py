"""Predict how long a trace takes on a machine that a platform file describes.

The simulator advances a clock for each rank on the compressed trace, by the LogGOPS model: overheads, latency
and bytes of messages, eager and rendezvous protocols, collectives by their algorithms. Computation takes its
recorded time, times the platform's compute_scale, or with `--kernels` that of models.

Printed are the predicted time, the cost of each call site, and the longest path: how much of it is
computation, latency, bytes and overhead, and how much more latency the run tolerates.
`study` simulates in many settings.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalatrace.cli.named import SiteNames
from scalatrace.cli.output import (
    add_formats,
    add_names,
    add_seed,
    add_trace,
    factor,
    natural,
    print_facts,
    print_json,
    seconds,
)
from scalatrace.cli.parsing import further
from scalatrace.cli.simulation import DEFAULT_REPEATS, Simulated, SimulationSetting
from scalatrace.cli.sizes import add_sizes, read_trace
from scalatrace.errors import UsageError
from scalatrace.files import check_output
from scalatrace.report.predictions.columns import SIMULATED, SIMULATED_BY

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.predict.platform import Platform

EXAMPLE = (
    "scalatrace simulate app.st --platform platform.toml\n"
    "  scalatrace simulate app.1024.st --platform cluster --by operation\n"
    "  scalatrace simulate app.st --platform cluster --kernels kernels.toml\n"
    "  scalatrace simulate app.st --platform platform.toml --measured 2.31\n"
    "  scalatrace simulate app.st --platform cluster --repeat 40 --seed 7 --json"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    add_sizes(parser)
    parser.add_argument(
        "--platform", required=True, metavar="FILE", help="platform file (.toml), or an installed platform"
    )
    parser.add_argument(
        "--compute-scale", type=factor, default=1.0, metavar="F", help="multiply computation times by F"
    )
    parser.add_argument(
        "--repeat", type=natural, metavar="R",
        help=f"runs with drawn computation times, for the interval (small traces: {DEFAULT_REPEATS})",
    )  # fmt: skip
    add_seed(parser, "the draws")
    further(parser).add_argument(
        "--times", choices=("mean", "drawn"), default="mean",
        help="computation times of the run that is shown: means (default), or drawn from their histograms",
    )  # fmt: skip
    further(parser).add_argument(
        "--cluster", metavar="FILE",
        help="unequal nodes: computation takes longer on some, as sampled from this model with --seed",
    )  # fmt: skip
    parser.add_argument(
        "--kernels", metavar="FILE",
        help="models of kernels (.toml): marked kernels take these times instead of the recorded ones",
    )  # fmt: skip
    parser.add_argument(
        "--network", choices=("none", "loads", "flows"), default="",
        help="how messages share links: not at all; by the bytes on each link of messages under way together "
        "(default, if nodes share links); as flows over time, for up to about 10,000 ranks",
    )  # fmt: skip
    parser.add_argument(
        "--placement", default="", metavar="HOW",
        help="nodes of the ranks: block, cyclic, random:SEED, file:HOSTS (one host a line) or trace (as on "
        "the hosts of the recorded run); default: the platform's",
    )  # fmt: skip
    parser.add_argument(
        "--mpi", default="", metavar="NAME",
        help="library whose algorithms of collectives are used: openmpi, mpich, openmpi-5.0.8, ..., or "
        "thakur; default: the platform's, or the recorded one",
    )  # fmt: skip
    further(parser).add_argument(
        "--polls", choices=("wait", "work"), default="wait",
        help="what calls such as MPI_Test do that find nothing: wait for messages (default), or take their "
        "recorded time, as in programs that work between them",
    )  # fmt: skip
    parser.add_argument(
        "--by",
        choices=("site", "operation", "rank"),
        default="site",
        help="rows of the table (default: site)",
    )
    parser.add_argument(
        "--top", type=natural, default=15, metavar="N", help="rows that are shown (default 15)"
    )
    further(parser).add_argument(
        "--measured", type=seconds, metavar="S",
        help="time from the first to the last communicating call on this machine, measured without the "
        "recorder: added to the checks of the platform file",
    )  # fmt: skip
    further(parser).add_argument(
        "--tolerance",
        action=argparse.BooleanOptionalAction,
        help="compute how much latency the run tolerates (default: for at most 20 million simulated calls)",
    )
    further(parser).add_argument(
        "--path", action="store_true", help="follow the longest path to call sites in large runs, too"
    )
    further(parser).add_argument(
        "--engine", choices=("builtin", "simgrid"), default="builtin",
        help="simgrid: only the time, by `smpirun -replay`, where SimGrid is installed",
    )  # fmt: skip
    add_names(parser)
    add_formats(parser, SIMULATED)


def run(args: argparse.Namespace) -> int:
    """Load, simulate and print."""
    from scalatrace.predict.platform import read_platform

    platform = read_platform(args.platform).changed(args.placement, args.mpi)
    _check_measured(args)
    trace = read_trace(args.trace, args)
    if args.engine == "simgrid":
        if args.csv:
            raise UsageError("--csv prints rows of calls, which --engine simgrid does not give: use --json")
        if args.kernels:
            raise UsageError("--engine simgrid takes recorded times; leave out --kernels")
        if args.polls != "wait":
            raise UsageError("--engine simgrid does not know polls; leave out --polls")
        return _simgrid(args, trace, platform)
    facts = _facts(args, trace, platform)
    facts = SiteNames.of(trace, args.trace, args.names).facts(facts)
    if args.measured is not None:
        facts["check"] = _add_check(args, trace, facts)
    from scalatrace.report.predictions.simulation import SimulationReporter

    rows = ({**row, "call site": row.get("site")} for row in facts["rows"])
    print_facts(args, facts, SIMULATED_BY[args.by], rows, SimulationReporter(facts, args.by, args.top))
    return 0


def _check_measured(args: argparse.Namespace) -> None:
    """Raise UsageError unless a check can be added to the platform file."""
    if args.measured is None:
        return
    if not args.measured > 0:
        raise UsageError("--measured: the run time must be above 0 s")
    changed = args.cluster or args.kernels or args.compute_scale != 1 or args.polls != "wait"
    changed = changed or args.network or args.placement or args.mpi
    if args.engine == "simgrid" or changed:
        others = (
            "--engine simgrid",
            "--cluster",
            "--kernels",
            "--network",
            "--placement",
            "--mpi",
            "--polls",
        )
        options = f"{', '.join(others)} and --compute-scale"
        raise UsageError(f"--measured checks the prediction without options; leave out {options}")
    if not Path(args.platform).is_file():
        raise UsageError(f"--measured adds to a platform file; {args.platform} is installed with the package")
    check_output(args.platform, "--measured")


def _add_check(args: argparse.Namespace, trace: Trace, facts: dict[str, Any]) -> dict[str, Any]:
    """Add the run that was measured to the platform file, and return it."""
    from scalatrace.predict.platform import PlatformCheck, add_check
    from scalatrace.report.predictions.simulation import predicted_ns

    program = trace.meta.get("program", "")
    check = PlatformCheck(trace.nprocs, args.measured, float(f"{predicted_ns(facts) / 1e9:.9g}"), program)
    add_check(args.platform, check)
    facts["platform_checks"] += 1
    return {"measured_s": check.measured_s, "predicted_s": check.predicted_s, "ratio": check.ratio}


def _facts(args: argparse.Namespace, trace: Trace, platform: Platform) -> dict[str, Any]:
    drawn = args.times == "drawn"
    setting = SimulationSetting(
        args.compute_scale,
        drawn,
        args.seed,
        args.repeat,
        args.cluster,
        args.path,
        args.kernels,
        polls_work=args.polls == "work",
        network=args.network,
    )
    simulated = Simulated(trace, platform, setting)
    facts = {**simulated.facts(), "rows": simulated.rows(args.by)}
    if links := simulated.hottest_links():
        facts["links"] = links
    if (interval := simulated.drawn()) is not None:
        facts["drawn"] = interval
    allowed = simulated.allows_tolerance if args.tolerance is None else args.tolerance
    if allowed and (tolerance := simulated.tolerance()):
        facts["tolerance"] = tolerance
    elif args.tolerance is None and not allowed:
        facts["notes"] = facts["notes"] | {"tolerances": "not computed for so many calls; see --tolerance"}
    return facts


def _simgrid(args: argparse.Namespace, trace: Trace, platform: Platform) -> int:
    from scalatrace.predict.export.simgrid_run import simgrid_time_ns
    from scalatrace.report.style import coarse_duration, console
    from scalatrace.trace.threads import check_one_thread

    check_one_thread(trace, "simulate")
    scaled = replace(platform, compute_scale=platform.compute_scale * args.compute_scale)
    contention = args.network != "none" and platform.shares_links
    time_ns = simgrid_time_ns(trace.without_phases, scaled, contention=contention)
    if args.json:
        print_json(
            {"ranks": trace.nprocs, "platform": platform.name, "time_ns": time_ns, "engine": "simgrid"}
        )
    else:
        console().print(f"predicted time  {coarse_duration(time_ns)}  (SimGrid)")
    return 0
