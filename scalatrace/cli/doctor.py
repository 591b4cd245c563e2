"""Check what recording needs on this machine; exit status 1 when something is missing."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from scalatrace.cli.output import add_json, print_json

EXAMPLE = "scalatrace doctor --build"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--build", action="store_true", help="build the tracer for every MPI that is found")
    parser.add_argument("--include", action="store_true", help="print only the folder of st_plugin.h")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Look, and report."""
    from scalatrace.record.doctor import build_all, facts
    from scalatrace.record.shim import INCLUDE
    from scalatrace.report.checks import ChecksReporter
    from scalatrace.report.style import console

    if args.include:
        print(INCLUDE)
        return 0
    checks = [*facts(), *(build_all() if args.build else [])]
    if args.json:
        print_json([asdict(fact) for fact in checks])
    else:
        ChecksReporter([(fact.name, fact.ok, fact.detail, fact.hint) for fact in checks]).render(console())
    return 0 if all(fact.ok for fact in checks) else 1
