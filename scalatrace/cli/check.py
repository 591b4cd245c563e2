"""Check that the calls of a trace's ranks fit together, or those of a symbolic trace (.stx) at many sizes.

Each message needs its receive, with the same tag and room for it. All members of a communicator must make the
same collective calls, with one root and equally many bytes. No rank may name a peer that is not there.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scalatrace.cli.extrapolation import parse_params
from scalatrace.cli.output import add_json, natural, print_json

EXAMPLE = (
    "scalatrace check stencil.st\n"
    "  scalatrace check app.stx --ranks 256\n"
    "  scalatrace check app.stx --param n=4096 --json"
)

DEFAULT_RANKS = 64


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("trace", help="trace (.st) or symbolic trace (.stx)")
    parser.add_argument(
        "--ranks",
        type=natural,
        metavar="N",
        default=DEFAULT_RANKS,
        help=f"of a symbolic trace: check all sizes up to N ranks (default {DEFAULT_RANKS})",
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="N=V", help="of a symbolic trace: a parameter"
    )
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="FILE", help="Python file with additional formulas"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load and check the file; 1 when something does not fit together."""
    from scalatrace.report.extrapolation import MatchingReporter
    from scalatrace.report.style import console

    facts = _symbolic(args) if Path(args.trace).suffix == ".stx" else _recorded(args.trace)
    if args.json:
        print_json(facts)
    else:
        MatchingReporter(facts).render(console())
    return int(any(size["conflict"] for size in facts["sizes"]))


def _recorded(path: str) -> dict[str, Any]:
    import scalatrace
    from scalatrace.trace.consistency.agreement import first_conflict

    trace = scalatrace.load(path)
    size = {"ranks": trace.nprocs, "grid": "", "conflict": first_conflict(trace) or "", "undetermined": ""}
    return {"file": path, "sizes": [size]}


def _symbolic(args: argparse.Namespace) -> dict[str, Any]:
    from rich.console import Console
    from rich.progress import track

    from scalatrace.extrap.extrapolate import target_inputs
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.extrap.matching import check_sizes
    from scalatrace.extrap.sizes import grids_like
    from scalatrace.extrap.stx import load
    from scalatrace.trace.symbolic.grid import Grid

    load_plugins(args.plugin)
    model = load(args.trace)
    inputs = target_inputs(model, parse_params(args.param))
    grids = grids_like([Grid(dims, model.column_major) for dims, _ in model.seen], args.ranks)
    shown = track(
        check_sizes(model, inputs, grids),
        "checking",
        total=len(grids),
        console=Console(stderr=True),
        transient=True,
        disable=not grids,
    )
    return {"file": args.trace, "sizes": [size.plain() for size in shown]}
