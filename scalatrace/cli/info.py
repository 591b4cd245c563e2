"""Describe a trace: header, ranks, run time and efficiencies, what costs most, communicators, bytes."""

from __future__ import annotations

import argparse
import glob
import os

from scalatrace.cli.output import add_names, add_trace, print_json
from scalatrace.cli.tables import CALL_SITE, Table, add_formats, print_csv

TABLE = Table(
    "call site that costs most",
    {
        **CALL_SITE,
        "calls": "of all ranks",
        "mpi_ns": "in the calls",
        "mpi_ns_mean": "of a call",
        "mpi_ns_max": "of the longest call, within 3 %",
        "beyond_shortest_ns": "beyond the shortest call at the same place: at most so much was waiting",
        "compute_ns": "in the computation before the calls",
    },
)
EXAMPLE = "scalatrace info stencil.st"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    add_names(parser)
    add_formats(parser, TABLE)


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    from scalatrace.cli.named import load_named
    from scalatrace.report.info import InfoReporter
    from scalatrace.report.style import console

    children = sorted(glob.glob(f"{glob.escape(str(args.trace))}.child-*[0-9]"))
    reporter = InfoReporter(load_named(args.trace, args.names), os.path.getsize(args.trace), children)
    if args.json:
        print_json(reporter.facts())
    elif args.csv:
        print_csv(TABLE, reporter.performance.plain()["costliest"])
    else:
        reporter.render(console())
    return 0
