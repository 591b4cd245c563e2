"""Extrapolate a trace to any number of ranks from three or more small traces (better four) of several sizes,
or from the formulas that `--symbolic` wrote of them (.stx).

The grid of the ranks is found in the traces. Every peer, count, trip count, group of ranks and communicator
must follow an exact formula over the sizes of the grid, a rank's coordinates, and the program's parameters.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import scalatrace
from scalatrace.cli.extrapolation import (
    ExtrapolationTarget,
    FitOptions,
    add_lossy,
    add_target,
    add_workers,
    extrapolate,
    extrapolate_symbolic,
    instantiate,
    lossy_options,
    note_inputs,
    refusals,
    result_rows,
    shared,
)
from scalatrace.cli.named import SiteNames
from scalatrace.cli.output import add_formats, add_names, print_facts
from scalatrace.cli.parsing import further
from scalatrace.cli.progress import stage, track
from scalatrace.cli.sizes import Dims, parse_dims, parse_params
from scalatrace.errors import UsageError
from scalatrace.report.columns import CHECKS, FITTED_TIMES, LOSSES, RESULT, SUGGESTIONS

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.model.symbolic import SymbolicTrace

EXAMPLE = (
    "scalatrace extrapolate a.st b.st c.st d.st -P 1024 -o big.st --report big.html\n"
    "  scalatrace extrapolate bt.16.st bt.25.st bt.36.st bt.49.st -P 1048576 --dims 1024x1024 -o bt.st\n"
    "  scalatrace extrapolate a.st b.st c.st --inputs n=64,96,128 --param n=4096 -P 4096 -o weak.st\n"
    "  scalatrace extrapolate a.st b.st c.st d.st --check\n"
    "  scalatrace extrapolate a.st b.st c.st d.st --symbolic -o app.stx\n"
    "  scalatrace extrapolate app.stx --dims 64x32 -o big.st\n"
    "  scalatrace extrapolate a.st b.st c.st -P 1024 --suggest\n"
    "  mpiexec -n 8 scalatrace extrapolate a.st b.st c.st d.st -P 1024 -o big.st --workers mpi\n"
    "  scalatrace extrapolate a.st b.st c.st d.st -P 1024 --lossy --snippets halo.snippets -o big.st"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "traces",
        nargs="+",
        metavar="trace",
        help="trace files of one program (.st), or a file of formulas (.stx)",
    )
    further(parser).add_argument(
        "--dims-of", metavar="AxB,...", help="grids of the traces (default: found in them)"
    )
    parser.add_argument(
        "--inputs",
        action="append",
        default=[],
        metavar="N=V,V,...",
        help="values of a parameter in the traces, if recorded without --param; one value: the same in all",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file for the result (.st)")
    parser.add_argument(
        "--symbolic",
        action="store_true",
        help="write the formulas (.stx) instead of a trace; give that file for any size",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="predict each trace from the others and compare",
    )
    further(parser).add_argument(
        "--no-check",
        action="store_true",
        help="do not predict the largest trace from the others (done with four or more traces), and do not "
        "check that messages and collective calls of the result match",
    )
    parser.add_argument(
        "--accept-unconfirmed",
        action="store_true",
        help="use formulas that the traces do not confirm too; header, `info` and `show` state it",
    )
    parser.add_argument(
        "--suggest",
        action="store_true",
        help="list the sizes to record next, the smallest first, and make no trace",
    )
    add_lossy(parser)
    add_workers(parser)
    add_target(parser)
    add_names(parser)
    add_formats(parser, RESULT, FITTED_TIMES, CHECKS, LOSSES, SUGGESTIONS)


def run(args: argparse.Namespace) -> int:
    """Load the traces, fit, write the trace or the formulas."""
    with shared(args) as workers:
        return _run(args, workers)


def _run(args: argparse.Namespace, workers: int) -> int:
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.report.extrapolation import ExtrapolationReporter
    from scalatrace.trace.consistency.failed import repeatable

    lossy = lossy_options(args)
    target = _target(args)
    if (model := _formulas(args)) is not None:
        return _instantiate(args, model, target, workers)
    dims_of = None if args.dims_of is None else [parse_dims("--dims-of", t) for t in args.dims_of.split(",")]
    traces = [repeatable(scalatrace.load(path)) for path in track(args.traces, "reading")]
    note_inputs(traces, args.inputs)
    load_plugins(args.plugin)
    frames = dict.fromkeys(frame for trace in traces for frame in trace.frames)
    names = SiteNames(frames, traces[-1].meta, args.traces[-1], args.names)
    with names.errors():
        if args.check:
            return _check(args, traces, dims_of, names)
        if args.suggest:
            return _suggest(args, traces, dims_of, names)
        options = FitOptions(lossy, not args.no_check, args.accept_unconfirmed, workers)
        with refusals(args.json, names):
            if target is None:
                facts = extrapolate_symbolic(traces, dims_of, args.output, options)
            else:
                facts = extrapolate(traces, dims_of, target, options, names)
    facts = names.facts(facts)
    print_facts(args, facts, *result_rows(facts), ExtrapolationReporter(facts))
    return 0


def _formulas(args: argparse.Namespace) -> SymbolicTrace | None:
    """Return the symbolic trace, if that is the only input."""
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.trace.io.container import is_symbolic
    from scalatrace.trace.io.reader import load_symbolic

    if len(args.traces) != 1 or not is_symbolic(args.traces[0]):
        return None
    load_plugins(args.plugin)
    return load_symbolic(args.traces[0])


def _instantiate(
    args: argparse.Namespace, model: SymbolicTrace, target: ExtrapolationTarget | None, workers: int
) -> int:
    """Evaluate formulas for the size of the result."""
    from scalatrace.report.extrapolation import ExtrapolationReporter

    path = args.traces[0]
    if target is None or args.suggest or args.lossy or args.inputs or args.dims_of:
        raise UsageError(
            f"{path} holds formulas, which are fitted already: leave --symbolic, --check, --suggest, "
            "--lossy, --inputs and --dims-of out; `scalatrace check` checks formulas"
        )
    options = FitOptions(None, not args.no_check, args.accept_unconfirmed, workers)
    names = SiteNames.of(model, path, args.names)
    with names.errors(), refusals(args.json, names):
        facts = names.facts(instantiate(model, target, options, names))
    print_facts(args, facts, *result_rows(facts), ExtrapolationReporter(facts))
    return 0


def _target(args: argparse.Namespace) -> ExtrapolationTarget | None:
    """Return the trace to make; None with --symbolic, --check or --suggest. Raises UsageError."""
    if args.lossy and args.check:
        raise UsageError("--check compares exact predictions: leave --lossy out")
    if args.lossy and (args.suggest or args.accept_unconfirmed):
        raise UsageError("--lossy drops what has no rule: leave --suggest and --accept-unconfirmed out")
    if (args.symbolic or args.check) and (args.nprocs or args.dims or args.param):
        raise UsageError("--symbolic and --check make no trace: leave -P, --dims and --param out")
    if args.report and (args.symbolic or args.check or args.suggest):
        raise UsageError("--report shows the trace that is made: leave --symbolic, --check and --suggest out")
    if args.output is None and not (args.check or args.suggest):
        raise UsageError("the file for the result is missing: give -o FILE")
    return None if args.symbolic or args.check or args.suggest else ExtrapolationTarget.of(args)


def _suggest(
    args: argparse.Namespace, traces: list[Trace], dims_of: list[Dims] | None, names: SiteNames
) -> int:
    from scalatrace.extrap.suggest import suggest_recordings
    from scalatrace.report.extrapolation import SuggestionReporter

    dims = None if args.dims is None else parse_dims("--dims", args.dims)
    stage("finding sizes to record")
    reason, runs = suggest_recordings(
        traces, dims_of, args.nprocs, dims, parse_params(args.param), not args.no_check
    )
    facts: dict[str, Any] = {"reason": names.text(reason), "sizes": [run.plain() for run in runs]}
    print_facts(args, facts, SUGGESTIONS, facts["sizes"], SuggestionReporter(facts))
    return 0


def _check(
    args: argparse.Namespace, traces: list[Trace], dims_of: list[Dims] | None, names: SiteNames
) -> int:
    from scalatrace.extrap.checking import leave_one_out
    from scalatrace.report.extrapolation import CheckReporter

    checks = list(track(leave_one_out(traces, dims_of), "predicting each trace from the others", len(traces)))
    rows = names.facts([check.plain() for check in checks])
    print_facts(args, rows, CHECKS, rows, CheckReporter(rows))
    return 0 if all(check.exact for check in checks) else 1
