"""Show the point-to-point communication matrix: a table, for many ranks a heat map, or CSV."""

from __future__ import annotations

import argparse
import sys

from scalatrace.cli.output import add_json, add_trace, print_json

EXAMPLE = "scalatrace matrix stencil.st\n  scalatrace matrix stencil.st --what messages --csv > messages.csv"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument("--what", choices=("bytes", "messages"), default="bytes", help="default: bytes")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="sender,receiver,amount of each communicating pair")
    add_json(form)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    import scalatrace
    from scalatrace.report.matrix import MatrixReporter
    from scalatrace.report.style import console
    from scalatrace.trace.query.matrix import pairs
    from scalatrace.trace.query.summaries import byte_parameters, summarised

    trace = scalatrace.load(args.trace)
    notes = []
    if args.what == "bytes" and (names := summarised(trace, byte_parameters)):
        notes = [f"messages whose sizes are kept as histograms count their mean size: {', '.join(names)}"]
    reporter = MatrixReporter(pairs(trace, args.what), trace.nprocs, args.what, notes)
    if args.csv:
        sys.stderr.writelines(f"scalatrace: note: {note}\n" for note in notes)
        sys.stdout.write(reporter.csv())
    elif args.json:
        print_json(reporter.plain())
    else:
        reporter.render(console())
    return 0
