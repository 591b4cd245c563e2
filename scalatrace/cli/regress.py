"""Test whether a new run is slower than the runs before it: an F-test of the time of each call site.

The last trace is the new run; the others are its history, in the order of time. Per call site there are two
factors: the mean time per rank in MPI, and computing before it. The mean of the new runs is compared with the
history for the total, for each factor, and for several factors at once. A second, windowed test compares the
last 5 runs: it detects smaller changes. Exit status: 0 no regression, 1 a regression, 2 wrong usage.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scalatrace
from scalatrace.cli.output import add_formats, add_plot, natural, print_facts
from scalatrace.cli.progress import stage, track
from scalatrace.errors import UsageError
from scalatrace.files import check_output, write_file
from scalatrace.report.predictions.columns import TESTS

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.predict.regress import Runs

EXAMPLE = (
    "scalatrace regress history/*.st new.st\n"
    "  scalatrace regress history/*.st new-1.st new-2.st new-3.st --new 3 --plot regress.svg\n"
    "  scalatrace regress history/*.st new.st --report history.html\n"
    "  scalatrace regress --table parameters.csv --confidence 0.9999"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "traces",
        nargs="*",
        help="traces, oldest first; those on as many ranks as the last one count",
    )
    parser.add_argument(
        "--table", type=Path, metavar="CSV",
        help="test factors of a table instead, such as model parameters: a header, then a line per run",
    )  # fmt: skip
    parser.add_argument(
        "--new", type=natural, default=1, metavar="N", help="the last N runs are new (default: 1)"
    )
    parser.add_argument(
        "--window",
        type=int,
        default=5,
        metavar="N",
        help="runs of the windowed test; 0: without (default: 5)",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.99, metavar="P",
        help="probability of no false alarm in all tests together (default: 0.99)",
    )  # fmt: skip
    parser.add_argument(
        "--by", choices=("site", "function", "op"), default="site", help="what a factor is (default: site)"
    )
    parser.add_argument(
        "--min-share", type=float, default=1.0, metavar="%",
        help="factors with a smaller part of the time are summed (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--min-change",
        type=float,
        default=0.0,
        metavar="%",
        help="smaller changes are no regressions (default: 0)",
    )
    parser.add_argument(
        "--factors",
        type=natural,
        metavar="N",
        help="factors tested at once (default: a third of the history)",
    )
    parser.add_argument(
        "--since", metavar="RUN", help="first run of the history, for instance after an upgrade"
    )
    parser.add_argument(
        "--outlier", action="append", default=[], metavar="RUN", help="run to leave out; may be repeated"
    )
    parser.add_argument(
        "-P", "--ranks", type=natural, metavar="N",
        help="also predict the computation of the slowest of N ranks from each run (see variability)",
    )  # fmt: skip
    parser.add_argument("--report", metavar="FILE", help="write an HTML page with the history of all factors")
    add_plot(parser)
    add_formats(parser, TESTS)


def run(args: argparse.Namespace) -> int:
    """Read the runs, test, report."""
    from scalatrace.predict.regress import evolution, judge
    from scalatrace.report.curves import check_plot
    from scalatrace.report.predictions.regress import RegressReporter

    if args.plot:
        check_plot(args.plot)
    if args.report:
        check_output(args.report, "--report")
    runs, efficiencies, phases, other_sizes = _runs(args)
    runs = runs.selected(args.since, args.outlier)
    stage("testing")
    verdict = judge(runs, args.new, args.confidence, args.window or None, args.factors, args.min_change / 100)
    data: dict[str, Any] = {
        "runs": list(runs.names),
        "verdict": verdict.plain(),
        "evolution": [factor.plain() for factor in evolution(runs, args.confidence)],
        "window_evolution": [factor.plain() for factor in evolution(runs, args.confidence, args.window or 1)],
        "phases": [row for row in phases if row["run"] in runs.names],
        "efficiency": [row for row in efficiencies if row["run"] in runs.names],
        "other_sizes": other_sizes,
    }
    reporter = RegressReporter(data, in_ns=args.table is None)
    if args.plot:
        reporter.draw(args.plot)
    if args.report:
        from scalatrace.report.page.predictions.history import history_page

        write_file(args.report, history_page(data, in_ns=args.table is None).encode("utf-8", "replace"))
    data["written"] = [str(path) for path in (args.plot, args.report) if path]
    print_facts(args, data, TESTS, data["verdict"]["tests"], reporter)
    return 1 if verdict.regressions else 0


def _runs(args: argparse.Namespace) -> tuple[Runs, list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return runs, efficiencies and phases where they are known, and runs on other numbers of ranks."""
    from scalatrace.predict.regress import read_table

    if (args.table is None) == (not args.traces):
        raise UsageError("give either traces, the new one last, or --table CSV")
    if args.window < 0:
        raise UsageError(f"--window {args.window}: give a number of runs, or 0 for no windowed test")
    if args.table is not None:
        return read_table(args.table), [], [], []
    return _runs_of_traces(args.traces, args.by, args.min_share / 100, args.ranks)


def _runs_of_traces(
    paths: list[str], by: str, min_share: float, target: int | None
) -> tuple[Runs, list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    from scalatrace.predict.regress import Runs
    from scalatrace.report.costs.efficiency import efficiency
    from scalatrace.report.costs.performance import plain_efficiency
    from scalatrace.report.costs.phases import plain_phases
    from scalatrace.report.predictions.regress import KnownSites, time_factors
    from scalatrace.trace.threads import check_one_thread

    rows, efficiencies, phases, other_sizes, sites = [], [], [], [], KnownSites()
    last = scalatrace.load(paths[-1])
    for i, path in enumerate(track(paths, "reading runs"), 1):
        trace = last if i == len(paths) else scalatrace.load(path)
        if trace.nprocs != last.nprocs:
            other_sizes.append(path)
            continue
        check_one_thread(trace, f"compare times of {path}")
        factors = time_factors(trace, by, sites)
        if not factors:
            raise UsageError(f"{path}: the trace has no times; record it without --stats that leave them out")
        rows.append((path, factors))
        row = {"run": path, **(plain_efficiency(efficiency(trace.without_phases)) or {})}
        if (left_out := plain_phases(trace.phases)) is not None:
            phases.append({"run": path, **left_out})
        if target is not None:
            row["prediction"] = _predict_slowest(trace, target)
        if len(row) > 1:
            efficiencies.append(row)
    if len(rows) == 1 and other_sizes:
        raise UsageError(
            f"no run before {paths[-1]} has {last.nprocs} ranks: only equal numbers are compared"
        )
    return Runs.of(rows).gathered(min_share).ordered(), efficiencies, phases, other_sizes


def _predict_slowest(trace: Trace, nranks: int) -> dict[str, Any] | None:
    """Return the computation of the slowest of so many ranks; None where the trace has no intervals."""
    from scalatrace.predict.variability.projection import RankProjection, project_trace

    data = project_trace(trace, RankProjection((nranks,)))
    return None if data is None else {"recorded_ns": data["total_ns"], **data["predictions"][0]}
