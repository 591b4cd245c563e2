"""Check that the calls of a trace's ranks fit together, or those of a symbolic trace (.stx) at many sizes; or
which MPI functions of a native program are recorded.

Each message needs its receive, with the same tag and room for it. All members of a communicator must make the
same collective calls, with one root and equally many bytes. No rank may name a peer that is not there.

The calls of a symbolic trace are also proved to fit together on all sizes, as far as z3 finds a proof
(install scalatrace[prove]). What it does not prove is checked on the sizes up to --ranks only.

Of a program, its own MPI functions and those of its libraries are listed that the tracer does not record, and
the MPI that it is linked to.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from scalatrace.cli.named import SiteNames
from scalatrace.cli.output import add_formats, add_names, natural, print_facts, seconds
from scalatrace.cli.progress import stage, track
from scalatrace.cli.sizes import add_plugins, parse_params
from scalatrace.report.columns import FUNCTIONS, SIZES

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.model.symbolic import SymbolicTrace

EXAMPLE = (
    "scalatrace check stencil.st\n"
    "  scalatrace check app.stx --ranks 256\n"
    "  scalatrace check app.stx --param n=4096 --json\n"
    "  scalatrace check ./solver"
)


DEFAULT_RANKS = 64
DEFAULT_SECONDS = 20.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("trace", help="trace (.st), symbolic trace (.stx), or program")
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
    add_plugins(parser)
    parser.add_argument(
        "--prove",
        type=seconds,
        metavar="SECONDS",
        default=DEFAULT_SECONDS,
        help=f"of a symbolic trace: time for proofs, 0 for none (default {DEFAULT_SECONDS:g})",
    )
    add_names(parser)
    add_formats(parser, SIZES, FUNCTIONS)


def run(args: argparse.Namespace) -> int:
    """Load and check the file; 1 when something does not fit together, or is not recorded."""
    from scalatrace.compilers.elf import is_elf
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.report.extrapolation import MatchingReporter
    from scalatrace.trace.io.reader import load_any
    from scalatrace.trace.model.symbolic import SymbolicTrace

    if is_elf(args.trace):
        return _program(args)
    load_plugins(args.plugin)
    stage("reading")
    trace = load_any(args.trace)
    names = SiteNames.of(trace, args.trace, args.names)
    if isinstance(trace, SymbolicTrace):
        facts = _check_sizes(trace, names, args)
    else:
        facts = _check_recorded(names.trace(trace), args.trace)
    refuted = [side for side in facts.get("proof", {}).get("open", ()) if side["grid"]]
    print_facts(args, facts, SIZES, facts["sizes"], MatchingReporter(facts))
    for side in refuted if args.csv else ():
        print(f"scalatrace: {side['site']}: {side['reason']} on {side['grid']} ranks", file=sys.stderr)
    return int(bool(refuted) or any(size["conflict"] for size in facts["sizes"]))


def _program(args: argparse.Namespace) -> int:
    from scalatrace.record.program_check import check_program
    from scalatrace.report.program import ProgramReporter

    facts = check_program(args.trace)
    print_facts(args, facts, FUNCTIONS, facts["problems"], ProgramReporter(facts))
    if args.csv and facts["obstacle"]:
        print(f"scalatrace: {facts['obstacle']}", file=sys.stderr)
    return int(bool(facts["obstacle"] or facts["problems"]))


def _check_recorded(recorded: Trace, path: str) -> dict[str, Any]:
    from scalatrace.trace.consistency.agreement import first_conflict
    from scalatrace.trace.consistency.failed import repeatable
    from scalatrace.trace.query.counting import check_visits

    trace = repeatable(recorded)
    check_visits(trace)
    size = {"ranks": trace.nprocs, "grid": "", "conflict": first_conflict(trace) or "", "undetermined": ""}
    return {"file": path, "sizes": [size]}


def _check_sizes(model: SymbolicTrace, names: SiteNames, args: argparse.Namespace) -> dict[str, Any]:
    from scalatrace.extrap.extrapolate import target_inputs
    from scalatrace.extrap.grid.target import grids_like
    from scalatrace.extrap.matching import check_sizes
    from scalatrace.trace.symbolic.grid import Grid

    inputs = target_inputs(model, parse_params(args.param))
    grids = grids_like([Grid(dims, model.column_major) for dims, _ in model.seen], args.ranks)
    shown = track(check_sizes(model, inputs, grids), "sizes", len(grids))
    facts: dict[str, Any] = {"file": args.trace, "sizes": [size.plain() for size in shown]}
    return dict(names.facts(facts | _proof(model, args.prove)))


def _proof(model: SymbolicTrace, limit: float) -> dict[str, Any]:
    from scalatrace.extrap.proofs.prove import available, prove_model

    if not limit:
        return {}
    if not available():
        return {"hint": "pip install 'scalatrace[prove]' to prove it for all sizes"}
    stage("proving")
    proof = prove_model(model, limit)
    return {"proof": {**proof.plain(), "line": proof.line()}}
