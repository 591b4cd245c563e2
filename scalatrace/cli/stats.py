"""Calls, bytes and time per operation, call site, kind of memory, thread or rank; computation against MPI.

Calls and bytes are exact, except bytes of calls whose sizes are kept as histograms. Times of operations and
call sites are sums of the histograms' means, within 0.05 %; the longest call is within 3 %. Half of the
calls take at most the median: an estimate from the bins of the histograms. A mean far above it comes from few
long calls. Times of a rank are its measured totals, within 5 %; "-": not known. "over fastest" is the time in
excess of the fastest call at the same place, known within 3 %: an upper bound of waiting. "computation" is
that before the calls. Numbers that are not known more precisely have two or three digits; --json and --csv
have all. A call site is the innermost frame outside wrappers of MPI. Traces from machines with GPUs know
where buffers lie (--by memory): host, device, managed, or several joined by + for several buffers of a call.
"""

from __future__ import annotations

import argparse

from scalatrace.cli.output import add_formats, add_names, add_trace, natural, print_csv, print_json
from scalatrace.cli.sizes import add_sizes
from scalatrace.errors import UsageError
from scalatrace.report.columns import STATS

KEYS = ("op", "site", "memory", "thread", "rank")
EXAMPLE = (
    "scalatrace stats stencil.st --by site --limit 20\n  scalatrace stats stencil.st --by site --stacks 3"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    add_sizes(parser)
    parser.add_argument(
        "--by", type=_key, choices=KEYS, default="op", help="rows (default: op, which is operation)"
    )
    parser.add_argument(
        "--stacks", type=natural, metavar="N",
        help="with --by site: frames of each row: the call site and N-1 callers (default: 1)",
    )  # fmt: skip
    parser.add_argument("--limit", type=natural, metavar="N", help="the N rows that cost most")
    add_names(parser)
    add_formats(parser, STATS)


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    if args.stacks is not None and args.by != "site":
        raise UsageError(f"--stacks {args.stacks} needs --by site: add it")
    from scalatrace.cli.named import load_named
    from scalatrace.report.stats import StatsReporter
    from scalatrace.report.style import console

    reporter = StatsReporter(load_named(args.trace, args.names, args), args.by, args.limit, args.stacks or 1)
    if args.json:
        print_json(reporter.plain())
    elif args.csv:
        print_csv(reporter.table, reporter.plain()["rows"][: args.limit])
    else:
        reporter.render(console())
    return 0


def _key(word: str) -> str:
    return "op" if word == "operation" else word
