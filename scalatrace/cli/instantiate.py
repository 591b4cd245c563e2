"""Make a trace of any number of ranks from the formulas of `scalatrace extrapolate --symbolic` (.stx)."""

from __future__ import annotations

import argparse

from scalatrace.cli.extrapolation import (
    ExtrapolationTarget,
    FitOptions,
    add_target,
    instantiate,
    refusals,
    result_rows,
)
from scalatrace.cli.named import SiteNames
from scalatrace.cli.output import add_formats, add_names, print_facts
from scalatrace.report.columns import FITTED_TIMES, RESULT

EXAMPLE = (
    "scalatrace instantiate app.stx -P 1024 -o big.st\n"
    "  scalatrace instantiate app.stx --dims 64x32 -o big.st"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("formulas", help="symbolic trace (.stx)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="trace file to write (.st)")
    parser.add_argument(
        "--no-check", action="store_true", help="do not check that messages and collective calls match"
    )
    parser.add_argument(
        "--accept-unconfirmed",
        action="store_true",
        help="use formulas that the traces do not confirm too; header, `info` and `show` state it",
    )
    add_target(parser)
    add_names(parser)
    add_formats(parser, RESULT, FITTED_TIMES)


def run(args: argparse.Namespace) -> int:
    """Read the formulas, evaluate them, write the trace."""
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.extrap.workers import available
    from scalatrace.report.extrapolation import ExtrapolationReporter
    from scalatrace.trace.io.reader import load_symbolic

    target = ExtrapolationTarget.of(args)
    load_plugins(args.plugin)
    options = FitOptions(None, not args.no_check, args.accept_unconfirmed, available())
    model = load_symbolic(args.formulas)
    names = SiteNames.of(model, args.formulas, args.names)
    with names.errors(), refusals(args.json, names):
        facts = names.facts(instantiate(model, target, options, names))
    print_facts(args, facts, *result_rows(facts), ExtrapolationReporter(facts))
    return 0
