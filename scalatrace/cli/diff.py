"""Compare two traces: total times, computation; calls, bytes, times of each call site; then event by event.
The exit status is 1 when they differ. Traces of different numbers of ranks are compared per rank."""

from __future__ import annotations

import argparse

from scalatrace.cli.output import add_formats, add_names, natural, print_csv, print_json, words
from scalatrace.cli.progress import stage
from scalatrace.cli.sizes import add_sizes
from scalatrace.report.columns import DIFFERENCES

EXAMPLE = (
    "scalatrace diff a.st b.st --ignore callsites,times\n"
    "  scalatrace diff recorded.st extrapolated.st --ignore timing\n"
    "  scalatrace diff --logs app.st logs"
)


TIMING = "timing"
"""The word for all that differs from run to run."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("left", help="trace file")
    parser.add_argument("right", help="trace file to compare it with")
    add_sizes(parser)
    parser.add_argument(
        "--ignore",
        type=words,
        default=[],
        metavar="WORDS",
        help="comma-separated aspects that may differ: callsites, times, comms, names of parameters, and "
        "timing: times, and which request MPI_Waitany or MPI_Testany completes first, where no call "
        "depends on it",
    )
    parser.add_argument(
        "--by",
        choices=("op", "site"),
        help="rows of the tables (default: site; with --ignore callsites: op)",
    )
    parser.add_argument(
        "--limit", type=natural, default=20, metavar="N", help="the N rows that differ most (default: 20)"
    )
    add_names(parser)
    add_formats(parser, DIFFERENCES)


def run(args: argparse.Namespace) -> int:
    """Load both and report what costs more or less in one of them, and each rank's first difference."""
    from scalatrace.cli.named import load_named_alike
    from scalatrace.report.costs.comparison import ComparisonReporter
    from scalatrace.report.findings import DiffReporter
    from scalatrace.report.style import console
    from scalatrace.trace.query.diff import diff

    left, right = load_named_alike((args.left, args.right), args.names, args)
    ignored = set(args.ignore)
    by = args.by or ("op" if "callsites" in ignored else "site")
    comparison = ComparisonReporter(left, right, by, not ignored & {TIMING, "times"}, args.limit)
    if TIMING in ignored:
        from scalatrace.extrap.choices import canonical
        from scalatrace.trace.query.absolute import absolute

        left, right = canonical(absolute(left)), canonical(absolute(right))
        ignored = ignored - {TIMING} | {"times"}
    stage("comparing the calls of each rank")
    differences = diff(left, right, ignored)
    reporter = DiffReporter(differences, args.left, args.right)
    if args.json:
        tables = {
            "sentence": comparison.sentence(args.left, args.right), "time_differences": comparison.times(),
            "computation": comparison.computation(), "comparison": comparison.plain(),
        }  # fmt: skip
        print_json({**reporter.plain(), "total": comparison.total(), **tables})
    elif args.csv:
        print_csv(comparison.table, comparison.flat())
    else:
        if differences:
            reporter.render_names(console())
            comparison.render(console())
        reporter.render(console())
    return 1 if differences else 0
