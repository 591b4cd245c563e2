"""Check what recording needs on this machine; exit status 1 when something is missing."""

from __future__ import annotations

import argparse
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING

from scalatrace.cli.output import add_json, print_json
from scalatrace.compilers.programs import find_program
from scalatrace.errors import UsageError

if TYPE_CHECKING:
    from scalatrace.record.doctor import Fact

EXAMPLE = "scalatrace doctor --build"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--build", action="store_true", help="build the tracer for every MPI that is found")
    parser.add_argument(
        "--into",
        metavar="DIR",
        help="with --build: a folder for the tracers, which others name in SCALATRACE_SHIMS",
    )
    parser.add_argument("--include", action="store_true", help="print only the folder of st_plugin.h")
    add_json(parser)


def _simgrid() -> Fact:
    """Return whether SimGrid is there, which only predictions with it need."""
    from scalatrace.record.doctor import Fact

    path = find_program("smpirun")
    hint = "only simulations with SimGrid need it: apt-get install libsimgrid-dev"
    return Fact("SimGrid", path is not None, path or "not installed", hint, optional=True)


def run(args: argparse.Namespace) -> int:
    """Look, and report."""
    from scalatrace.record.doctor import build_all, facts
    from scalatrace.record.shim import INCLUDE
    from scalatrace.report.checks import ChecksReporter, DoctorCheck
    from scalatrace.report.style import console

    if args.into and not args.build:
        raise UsageError("--into needs --build")
    if args.include:
        print(INCLUDE)
        return 0
    built = build_all(args.into) if args.build else []
    checks = [*facts(), *built, _simgrid()]
    if args.json:
        print_json([asdict(fact) for fact in checks])
    else:
        ChecksReporter([DoctorCheck(*astuple(fact)) for fact in checks]).render(console())
    return 0 if all(fact.ok or fact.optional for fact in checks) else 1
