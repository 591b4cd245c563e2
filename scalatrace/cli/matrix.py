"""Show the point-to-point communication matrix: a table, for many ranks a heat map, or CSV.

What collectives and one-sided calls send is not in it, and is counted below it."""

from __future__ import annotations

import argparse
import sys

from scalatrace.cli.output import add_trace, print_json
from scalatrace.cli.tables import Table, add_formats, print_csv
from scalatrace.errors import LimitError

PAIR = {"sender": "world rank", "receiver": "world rank"}
TABLE = Table(
    "pair of ranks that exchange messages",
    {**PAIR, "bytes": "with --what bytes", "messages": "with --what messages"},
)
EXAMPLE = "scalatrace matrix stencil.st\n  scalatrace matrix stencil.st --what messages --csv > messages.csv"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument("--what", choices=("bytes", "messages"), default="bytes", help="default: bytes")
    add_formats(parser, TABLE)


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    import scalatrace
    from scalatrace.report.matrix import MatrixReporter
    from scalatrace.report.style import console, nbytes, number
    from scalatrace.trace.query.matrix import outside, pairs
    from scalatrace.trace.query.summaries import byte_parameters, summarised

    trace = scalatrace.load(args.trace)
    notes = []
    if args.what == "bytes" and (names := summarised(trace, byte_parameters)):
        notes = [f"messages whose sizes are kept as histograms count their mean size: {', '.join(names)}"]
    try:
        notes += [
            f"not in the matrix: {number(calls)} {category.name.lower().replace('_', '-')} calls that send "
            f"{nbytes(sent)}"
            for category, (calls, sent) in outside(trace).items()
            if sent
        ]
    except LimitError as error:  # the matrix itself has less to count
        notes.append(f"collectives and one-sided calls are not in the matrix, and not counted: {error}")
    reporter = MatrixReporter(pairs(trace, args.what), trace.nprocs, args.what, notes)
    if args.csv:
        sys.stderr.writelines(f"scalatrace: note: {note}\n" for note in notes)
        print_csv(TABLE, reporter.rows(), without={"bytes", "messages"} - {args.what})
    elif args.json:
        print_json(reporter.plain())
    else:
        reporter.render(console())
    return 0
