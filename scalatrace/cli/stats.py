"""Calls, bytes and time per operation, call site or rank, as in mpiP's tables; computation against MPI.

Calls and bytes are exact, except bytes of calls whose sizes are kept as histograms. Times of operations and
call sites are sums of the histograms' means, within 0.05 %; the longest call is within 3 %. Times of a rank
are its measured totals, within 5 %; "-": not known. "beyond min" is the time beyond the shortest call at the
same place, which is known within 3 %: at most so much was waiting. What is not known more precisely has two
or three digits; --json and --csv have all. A call site is the innermost frame outside
wrappers of MPI.
"""

from __future__ import annotations

import argparse

from scalatrace.cli.output import add_names, add_trace, natural, print_json
from scalatrace.cli.sizes import add_sizes
from scalatrace.cli.tables import CALL_SITE, Table, add_formats, print_csv
from scalatrace.errors import UsageError

KEYS = ("op", "site", "rank")
TABLE = Table(
    "operation, call site or rank",
    {
        **CALL_SITE,
        "rank": "with --by rank",
        "calls": "of all ranks",
        "bytes_sent": "handed to MPI",
        "bytes_received": "room made for them",
        "mpi_ns": "in the calls",
        "mpi_ns_mean": "of a call",
        "mpi_ns_max": "of the longest call, within 3 %",
        "beyond_shortest_ns": "beyond the shortest call at the same place: at most so much was waiting",
        "compute_ns": "in the computation before the calls",
    },
)
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
    add_formats(parser, TABLE)


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
        keys = {"operation", "call site", "rank"} - set(reporter.names)
        print_csv(TABLE, reporter.plain()["rows"][: args.limit], without=keys)
    else:
        reporter.render(console())
    return 0


def _key(word: str) -> str:
    return "op" if word == "operation" else word
