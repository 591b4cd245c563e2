"""Describe a run: program, ranks, run time, shares of computation and MPI, what ranks do at least, on average
and most, and the call sites that cost most. `--all` adds the file: header, nodes, communicators, bytes."""

from __future__ import annotations

import argparse
import glob
import os
from typing import TYPE_CHECKING

from scalatrace.cli.output import add_formats, add_names, add_trace, print_csv, print_json
from scalatrace.cli.sizes import add_sizes
from scalatrace.errors import UsageError
from scalatrace.report.columns import COSTLIEST

if TYPE_CHECKING:
    from scalatrace.trace.model.symbolic import SymbolicTrace

EXAMPLE = "scalatrace info stencil.st\n  scalatrace info stencil.st --all"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument(
        "--all", action="store_true", help="header, nodes, communicators, bytes by parts, too"
    )
    add_sizes(parser)
    add_names(parser)
    add_formats(parser, COSTLIEST)


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    from scalatrace.cli.named import load_named_any
    from scalatrace.report.info import InfoReporter
    from scalatrace.report.style import console
    from scalatrace.trace.model.symbolic import SymbolicTrace

    trace = load_named_any(args.trace, args.names, args)
    if isinstance(trace, SymbolicTrace):
        return _show_formulas(trace, args)
    children = sorted(glob.glob(f"{glob.escape(str(args.trace))}.child-*[0-9]"))
    reporter = InfoReporter(trace, os.path.getsize(args.trace), children, args.all)
    if args.json:
        print_json(reporter.facts())
    elif args.csv:
        print_csv(COSTLIEST, reporter.performance.plain()["costliest"])
    else:
        reporter.render(console())
    return 0


def _show_formulas(trace: SymbolicTrace, args: argparse.Namespace) -> int:
    from scalatrace.extrap.formatting import describe
    from scalatrace.report.info import print_header
    from scalatrace.report.style import console

    if args.csv:
        raise UsageError(f"{args.trace} holds formulas, which have no times of operations: add -P N")
    facts = {**describe(trace), "file_bytes": os.path.getsize(args.trace)}
    if args.json:
        print_json(facts)
        return 0
    rows = {
        **facts["meta"],
        "ranks": f"any number, as a grid {' x '.join(facts['grid'])}",
        "traces": ", ".join(facts["traces"]),
        "parameters": ", ".join(facts["parameters"]) or "none",
        "events": f"{facts['events']:,} nodes of events",
        "formulas": f"{facts['formulas']:,} that are no constants",
        "file": f"{facts['file_bytes']:,} bytes",
        "Next": f"scalatrace info {args.trace} -P N, scalatrace show {args.trace}",
    }
    print_header(console(), list(rows.items()))
    return 0
