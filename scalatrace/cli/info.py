"""Describe a trace: header, ranks, run time and efficiencies, what costs most, communicators, bytes."""

from __future__ import annotations

import argparse
import glob
import os

from scalatrace.cli.output import add_json, add_names, add_trace, print_json

EXAMPLE = "scalatrace info stencil.st"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    add_names(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load the trace and report."""
    from scalatrace.cli.named import load_named
    from scalatrace.report.info import InfoReporter
    from scalatrace.report.style import console

    children = sorted(glob.glob(f"{glob.escape(str(args.trace))}.child-*[0-9]"))
    reporter = InfoReporter(load_named(args.trace, args.names), os.path.getsize(args.trace), children)
    if args.json:
        print_json(reporter.facts())
    else:
        reporter.render(console())
    return 0
