"""Make the trace of any number of ranks from traces of a few. At least two, better four, of different sizes.

The grid of the ranks is found in the traces; every peer, count, trip count, group of ranks and communicator
must follow an exact formula over its sizes, over a rank's place in it, and over the program's parameters.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scalatrace.cli.extrapolating import add_target
from scalatrace.cli.losing import add_lossy
from scalatrace.cli.output import add_json, print_json
from scalatrace.errors import UsageError

if TYPE_CHECKING:
    from scalatrace import Trace

EXAMPLE = (
    "scalatrace extrapolate a.st b.st c.st d.st -P 1024 -o big.st\n"
    "  scalatrace extrapolate bt.16.st bt.25.st bt.36.st bt.49.st -P 1048576 --dims 1024x1024 -o bt.st\n"
    "  scalatrace extrapolate a.st b.st c.st --inputs n=64,96,128 --param n=4096 -P 4096 -o weak.st\n"
    "  scalatrace extrapolate a.st b.st c.st d.st --check\n"
    "  scalatrace extrapolate a.st b.st c.st d.st -P 1024 --lossy --snippets halo.snippets -o big.st"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("traces", nargs="+", metavar="trace", help="trace files of one program (.st)")
    parser.add_argument("--dims-of", metavar="AxB,...", help="the grids of the traces (else found in them)")
    parser.add_argument(
        "--inputs",
        action="append",
        default=[],
        metavar="N=V,V,...",
        help="a parameter in each trace, where `record --param` did not note it; one value: the same in all",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the result (.st)")
    parser.add_argument(
        "--symbolic",
        action="store_true",
        help="write the formulas instead (.stx), for `scalatrace instantiate`",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="leave each trace out in turn, predict it from the others, compare",
    )
    add_lossy(parser)
    add_target(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load the traces, fit, write what was asked for."""
    import scalatrace
    from scalatrace.cli import extrapolating as steps
    from scalatrace.cli import losing
    from scalatrace.extrap.grid.plugins import load_plugins

    losing.check_options(args)
    if (args.symbolic or args.check) and (args.ranks or args.dims or args.param):
        raise UsageError("--symbolic and --check make no trace: -P, --dims and --param go without them")
    traces = [scalatrace.load(path) for path in args.traces]
    steps.note_inputs(traces, args.inputs)
    load_plugins(args.plugin)
    dims_of = None if args.dims_of is None else [steps.parse_dims(text) for text in args.dims_of.split(",")]
    if args.check:
        return _check(args, traces, dims_of)
    if args.output is None:
        raise UsageError("say where the result goes: -o FILE")
    if args.symbolic:
        if args.lossy:
            facts = losing.symbolic_lossily(traces, dims_of, args.output, args.snippets, args.max_dropped)
        else:
            facts = steps.symbolic(traces, dims_of, args.output)
    else:
        if args.ranks is None and args.dims is None:
            raise UsageError("say how many ranks the result has: -P N, or --dims XxY")
        dims = None if args.dims is None else steps.parse_dims(args.dims)
        params = steps.parse_params(args.param)
        how = (traces, args.ranks, dims, params, dims_of, args.output, steps.Times.of(args))
        lossily = (*how, args.snippets, args.max_dropped)
        facts = losing.extrapolated_lossily(*lossily) if args.lossy else steps.extrapolated(*how)
    if args.json:
        print_json(facts)
    else:
        steps.tell(facts)
        if args.lossy:
            losing.tell_losses(facts)
    return 0


def _check(args: argparse.Namespace, traces: list[Trace], dims_of: list[tuple[int, ...]] | None) -> int:
    from scalatrace.cli.extrapolating import tell_check
    from scalatrace.extrap.checking import leave_one_out

    found = list(leave_one_out(traces, dims_of))
    rows = [one.plain() for one in found]
    if args.json:
        print_json(rows)
    else:
        tell_check(rows)
    return 0 if all(one.exact for one in found) else 1
