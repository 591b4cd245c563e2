"""Calls, bytes and time per operation, call site or rank, as in mpiP's tables; computation against MPI."""

from __future__ import annotations

import argparse

from scalatrace.cli.output import add_json, add_trace, natural, print_json

EXAMPLE = "scalatrace stats stencil.st --by site --limit 20"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument("--by", choices=("op", "site", "rank"), default="op", help="rows (default: op)")
    parser.add_argument("--limit", type=natural, metavar="N", help="the N rows that cost most")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    import scalatrace
    from scalatrace.report.stats import StatsReporter
    from scalatrace.report.style import console

    reporter = StatsReporter(scalatrace.load(args.trace), args.by, args.limit)
    if args.json:
        print_json(reporter.plain())
    else:
        reporter.render(console())
    return 0
