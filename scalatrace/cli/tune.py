"""Tune the MPI library for a program: measure the collective calls of its trace with each algorithm that the
library has, and write the library's own file of rules. Run it under mpiexec with as many ranks as the trace.

Calls are repeated with the recorded sizes, communicators and arrivals of the ranks, in random order. Rules
are written only where the saving is significant: its interval lies above 0. Then the program runs with the
options that are printed. Supported are Open MPI (component coll/tuned) and MPICH, version 4 or later."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalatrace.cli.output import add_formats, add_seed, add_trace, print_facts, seconds
from scalatrace.cli.progress import PrintedSteps, stage
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output, write_file
from scalatrace.launched import launched_rank
from scalatrace.report.predictions.columns import TUNED

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.transport.mpi import MPITransport
    from scalatrace.replay.tune.run import TuneResult

EXAMPLE = (
    "mpiexec -n 4 scalatrace tune app.st -o rules.conf\n"
    "  mpiexec -n 4 scalatrace tune app.st -o rules.conf --seconds 300 --json"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="the library's file of rules"
    )
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=60.0,
        metavar="S",
        help="measure about so long (default: 60); each algorithm is measured once, however long it takes",
    )
    add_seed(parser, "the random order")
    add_formats(parser, TUNED)


def run(args: argparse.Namespace) -> int:
    """Measure on all ranks; rank 0 writes and reports. One rank's failure ends all."""
    check_output(args.output, "-o")
    if args.seed < 0:
        raise UsageError("--seed is 0 or more")
    from scalatrace import load
    from scalatrace.replay.start import report_failure, run_on_all_ranks, start_mpi
    from scalatrace.replay.tune.library import DYNAMIC

    os.environ[DYNAMIC] = "1"  # Open MPI reads it when MPI starts; others do not know it
    trace, wrong = None, ""
    try:
        trace = load(args.trace)
    except ScalatraceError as error:
        if launched_rank() is None:
            raise
        wrong = str(error)
    transport = start_mpi(trace, args.seed)
    status = 1
    if not report_failure(wrong, transport) and trace is not None:
        work = partial(_tune_and_report, trace, transport, args)
        status = run_on_all_ranks(work, transport, "the measurement")
    transport.finish()
    return status


def _tune_and_report(trace: Trace, transport: MPITransport, args: argparse.Namespace) -> int:
    from scalatrace.replay.tune.run import run_tuning

    stage("measuring")
    report = PrintedSteps("seconds of measuring") if transport.rank == 0 else None
    try:
        result = run_tuning(trace, args.seconds, args.seed, report)
    except ScalatraceError as error:  # on all ranks
        if transport.rank == 0:
            print(f"scalatrace: {error}", file=sys.stderr)
        return error.exit_status
    return 0 if result is None else _report(result, transport.shares_cores, args)


def _report(result: TuneResult, shares_cores: bool, args: argparse.Namespace) -> int:
    """Write the file where something is gained, and print what was measured."""
    from scalatrace.replay.tune.library import usage_lines
    from scalatrace.report.predictions.tuning import TuneReporter

    path = args.output.absolute()
    if result.rules:
        version = importlib.metadata.version("scalatrace")
        about = [
            f"Rules of {result.library.name} for {args.trace} on {result.nranks} ranks,",
            f"measured by scalatrace {version} (scalatrace tune).",
        ]
        write_file(args.output, result.library.text(result.rules, about).encode())
    facts = _facts(result, args) | {"shares_cores": shares_cores}
    if result.rules:
        facts["file"] = str(path)
        facts["environment"] = dict(result.library.variables(result.rules, path))
        facts["usage"] = usage_lines(result.library, result.rules, path, result.nranks)
    reporter = TuneReporter(facts)
    print_facts(args, facts, TUNED, facts["points"], reporter)
    return 0


def _facts(result: TuneResult, args: argparse.Namespace) -> dict[str, Any]:
    saving = result.saving
    return {
        "trace": args.trace,
        "mpi": result.library.name,
        "nprocs": result.nranks,
        "seconds": result.seconds,
        "collective_ns": result.collective_ns,
        "saving_ns": saving.mean,
        "saving_low_ns": saving.low,
        "saving_high_ns": saving.high,
        "level": saving.level,
        "points": [_point(unit) for unit in result.units],
        "left_out": [vars(part) for part in result.left_out],
        "rejected": [vars(part) for part in result.rejected],
        "file": None,
        "environment": {},
        "usage": [],
    }


def _point(unit: Any) -> dict[str, Any]:
    """Return a row with the columns of TUNED; times are of one call."""
    calls, point = unit.unit.calls, max(unit.unit.points, key=lambda point: point.calls)
    default, saving = unit.default_whole_ns, unit.saving
    tried = unit.candidate is not None
    return {
        "operation": unit.unit.op.capitalize(),
        "ranks": unit.unit.size,
        "bytes": point.block,
        "calls": calls,
        "default_ns": default / calls,
        "algorithm": unit.candidate.label if tried else "",
        "best_ns": (default - saving.mean) / calls if tried else None,
        "saving": saving.mean / default if tried else None,
        "saving_low": saving.low / default if tried else None,
        "saving_high": saving.high / default if tried else None,
        "rule": unit.gains,
        "pairs": len(unit.best_ns) if tried else 0,
        "algorithms": unit.measured,
    }
