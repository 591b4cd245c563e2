"""Show the communication matrix, point to point and of collectives: tables, for many ranks heat maps, or CSV.

Collectives that say who sends to whom are in it: alltoall, allgather, gather, scatter, and those of
neighbours.
What others send, and one-sided calls, is counted below it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scalatrace.cli.output import add_formats, add_trace, print_csv, print_json
from scalatrace.cli.progress import stage
from scalatrace.cli.sizes import add_sizes, read_trace
from scalatrace.errors import LimitError
from scalatrace.report.columns import PAIRS

if TYPE_CHECKING:
    from scalatrace import Trace

EXAMPLE = "scalatrace matrix stencil.st\n  scalatrace matrix stencil.st --what messages --csv > messages.csv"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from scalatrace.trace.exchange.matrix import CALLS, MEASURES

    add_trace(parser)
    add_sizes(parser)
    parser.add_argument("--what", choices=MEASURES, default="bytes", help="default: bytes")
    parser.add_argument(
        "--calls", choices=CALLS, default="all", help="p2p: messages only; collective: collectives only"
    )
    add_formats(parser, PAIRS)


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    from scalatrace.report.matrix import MatrixReporter, block_size, parts_of
    from scalatrace.report.style import console

    trace = read_trace(args.trace, args)
    out = console()
    block = 1 if args.csv or args.json else block_size(out, trace.nprocs)
    stage("adding up what ranks send")
    parts, notes = parts_of(trace, args.what, args.calls, block)
    if args.csv and notes and any(part.pairs is None for part in parts):
        raise LimitError(notes[0])
    notes = [*_means(trace, args.what), *notes, *_outside(trace)]
    reporter = MatrixReporter(parts, trace.nprocs, block, args.what, notes)
    if args.csv:
        sys.stderr.writelines(f"scalatrace: note: {note}\n" for note in notes)
        print_csv(reporter.table, reporter.rows())
    elif args.json:
        print_json(reporter.plain())
    else:
        reporter.render(out)
    return 0


def _means(trace: Trace, unit: str) -> list[str]:
    from scalatrace.trace.query.summaries import byte_parameters, summarised

    if unit == "bytes" and (names := summarised(trace, byte_parameters)):
        return [f"messages whose sizes are kept as histograms count their mean size: {', '.join(names)}"]
    return []


def _outside(trace: Trace) -> list[str]:
    """Return the line of what is not in the matrix."""
    from scalatrace.report.style import nbytes, number
    from scalatrace.trace.exchange.matrix import outside

    try:
        sums = outside(trace).items()
    except LimitError as error:  # the matrix itself has less to count
        return [f"other collectives and one-sided calls are not in the matrix, and not counted: {error}"]
    listed = (f"{number(calls)} {op} that send {nbytes(sent)}" for op, (calls, sent) in sums)
    text = ", ".join(listed)
    return [f"not in the matrix, since the calls do not say who sends to whom: {text}"] if text else []
