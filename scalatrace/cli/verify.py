"""Compare every rank's walk with its flat log, event by event; exit status 1 when they differ."""

from __future__ import annotations

import argparse

import scalatrace
from scalatrace.cli.output import add_json, add_trace, print_json

EXAMPLE = (
    "mpiexec -n 4 scalatrace record -o a.st --flat-log logs -- python app.py "
    "&& scalatrace diff --logs a.st logs"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument("logs", help="folder with the flat logs of the same run (rank-R.log)")
    parser.add_argument(
        "--prefix",
        action="store_true",
        help="for a trace merged from parts: logs may be longer than the trace",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load the trace, read the logs, report."""
    from scalatrace.report.findings import VerifyReporter
    from scalatrace.report.style import console
    from scalatrace.trace.query.verify import verify

    verification = verify(scalatrace.load(args.trace), args.logs, prefix=args.prefix)
    reporter = VerifyReporter(verification)
    if args.json:
        print_json(reporter.plain())
    else:
        reporter.render(console())
    return 0 if verification.ok else 1
