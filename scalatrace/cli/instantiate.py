"""Make a trace of any number of ranks from the formulas that `scalatrace extrapolate --symbolic` wrote."""

from __future__ import annotations

import argparse
from math import prod

from scalatrace.cli.extrapolating import add_target
from scalatrace.cli.output import add_json, print_json
from scalatrace.errors import UsageError

EXAMPLE = (
    "scalatrace instantiate app.stx -P 1024 -o big.st\n"
    "  scalatrace instantiate app.stx --dims 64x32 -o big.st"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("formulas", help="symbolic trace (.stx)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the result (.st)")
    add_target(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read the formulas, evaluate them, write the trace."""
    from scalatrace.cli import extrapolating as steps
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.extrap.stx import load

    if args.ranks is None and args.dims is None:
        raise UsageError("say how many ranks the result has: -P N, or --dims XxY")
    load_plugins(args.plugin)
    dims = None if args.dims is None else steps.parse_dims(args.dims)
    nprocs = prod(dims) if args.ranks is None and dims else args.ranks
    params = steps.parse_params(args.param)
    model = load(args.formulas)
    facts = steps.instantiated(model, nprocs, dims, params, args.output, steps.Times.of(args))
    if args.json:
        print_json(facts)
    else:
        steps.tell(facts)
    return 0
