"""Replay a trace: the same calls with the same parameters on the same number of ranks, random payload,
and waiting in place of computing. Run it under mpiexec; `scalatrace record` in front records the replay."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scalatrace.cli import replay_engine
from scalatrace.cli.output import (
    add_at,
    add_by_messages,
    add_factors,
    add_formats,
    add_seed,
    add_trace,
    print_facts,
    rules_of,
    seconds,
)
from scalatrace.compilers.programs import own_python
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.launched import launched_rank
from scalatrace.report.columns import REPLAYED

if TYPE_CHECKING:
    from pathlib import Path

    from scalatrace import Trace
    from scalatrace.replay import RankResult, ReplayOptions
    from scalatrace.replay.transport.mpi import MPITransport
    from scalatrace.trace.query.factors import FactorRule

EXAMPLE = (
    "mpiexec -n 16 scalatrace replay app.st\n"
    "  mpiexec -n 16 scalatrace replay app.st --compute-scale 0.5 --bytes-scale 2 --json\n"
    "  mpiexec -n 16 scalatrace replay app.st --at solver.py:120-180 compute=0.1 --at Allreduce bytes=4\n"
    "  mpiexec -n 16 scalatrace replay app.st --record again.st"
)
THREADS = "several threads of a rank called MPI; one replays their calls in the order in which they ended"
DEVICES = "calls had buffers on GPUs; this replay uses memory of the host, so its transfers take other times"
PROGRESS_S = 10
RECORDED = "SCALATRACE_REPLAY_RECORDED"
"""Set for a process of `--record` that runs under the tracer already."""
COMPUTE = ("spin", "sleep", "none")
TIMES = ("mean", "drawn")

NAMES_S = 60.0
"""Seconds for the source lines of native call sites, which `--at` may name."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    replay_engine.arguments(parser)
    parser.add_argument("--compute", choices=COMPUTE, default="spin", help="how to wait (default: spin)")
    parser.add_argument(
        "--times",
        choices=TIMES,
        default="mean",
        help="of the computation: each context's mean, or drawn (default: mean)",
    )
    add_factors(parser)
    add_at(parser)
    add_by_messages(parser)
    add_seed(parser, "the random payload")
    parser.add_argument("--io-folder", default="replay-io", metavar="DIR", help="for files of MPI-IO")
    parser.add_argument("--verify", action="store_true", help="compare calls and bytes with the trace's")
    parser.add_argument(
        "--stall-limit", type=seconds, default=60.0, metavar="S",
        help="end a replay in which no rank has moved for S seconds (default: 60; 0: never)",
    )  # fmt: skip
    parser.add_argument("--record", metavar="TRACE", help="record the replay")
    parser.add_argument(
        "--force",
        action="store_true",
        help="also where calls wait for what `record --only ...` left out, or several threads made calls",
    )
    add_formats(parser, REPLAYED)


def run(args: argparse.Namespace) -> int:
    """Replay this process's rank; rank 0 reports. One rank's failure ends all."""
    from scalatrace.cli.named import load_named
    from scalatrace.compilers.launchers import foreign_launcher
    from scalatrace.replay.start import report_failure, run_on_all_ranks, start_mpi
    from scalatrace.trace.consistency.failed import WITH_ERRORS, repeatable

    options = _options(args)
    if args.record and not os.environ.get(RECORDED):
        _start_again(args.record)
    if launched_rank() == 0 and (foreign := foreign_launcher([sys.executable])):
        print(f"scalatrace: {foreign}", file=sys.stderr, flush=True)
    trace, wrong = None, ""
    try:
        trace = repeatable(load_named(args.trace, NAMES_S if args.at else 0))
    except ScalatraceError as error:
        if launched_rank() is None:
            raise
        wrong = str(error)
    transport = start_mpi(trace, args.seed)
    if report_failure(wrong, transport) or trace is None:
        transport.finish()
        return 1
    if WITH_ERRORS in trace.counts:
        transport.allow_truncation()
    status = _check_replayable(trace, transport, options, args.force)
    if status is None:
        work = partial(_replay_and_report, trace, transport, options, args)
        status = run_on_all_ranks(work, transport, "the replay")
    transport.finish()
    return status


def _start_again(trace: str) -> None:
    """Become the same command under the tracer."""
    command = own_python("-m", "scalatrace")
    os.environ[RECORDED] = "1"
    os.execv(command[0], [*command, "record", "-o", trace, "--", *command, *sys.argv[1:]])


def _options(args: argparse.Namespace) -> ReplayOptions:
    from scalatrace.replay import CollectiveMode, ComputeMode, ReplayOptions, TimeChoice

    if args.verify and args.collectives == "p2p":
        raise UsageError("--verify compares with the calls of the trace, which --collectives p2p replaces")
    return ReplayOptions(
        ComputeMode(args.compute),
        args.compute_scale,
        args.seed,
        args.io_folder,
        TimeChoice(args.times),
        _rules(args),
        CollectiveMode(args.collectives),
    )


def _replay_and_report(
    trace: Trace, transport: MPITransport, options: ReplayOptions, args: argparse.Namespace
) -> int:
    try:
        library = replay_engine.compiled_library(trace, transport, options, args.engine)
    except ScalatraceError as error:  # on all ranks
        if transport.rank == 0:
            print(f"scalatrace: {error}", file=sys.stderr)
        return error.exit_status
    result = _replay(trace, transport, options, args, library)
    return _report(trace, transport.gather(result.pack()), args, "compiled" if library else "python")


def _check_replayable(
    trace: Trace, transport: MPITransport, options: ReplayOptions, force: bool
) -> int | None:
    """Return None when the trace can be replayed here; else rank 0 says why not, all have its status."""
    from scalatrace.replay import check
    from scalatrace.trace.exchange.buffer_memory import uses_devices
    from scalatrace.trace.threads import thread_count

    try:
        check(trace, transport.size, options, force)
    except ScalatraceError as error:
        if transport.rank == 0:
            print(f"scalatrace: {error}", file=sys.stderr)
        return error.exit_status
    if transport.rank == 0 and thread_count(trace.meta) > 1 and not trace.has_streams:
        print(f"scalatrace: {THREADS}", file=sys.stderr)
    if transport.rank == 0 and uses_devices(trace):
        print(f"scalatrace: {DEVICES}", file=sys.stderr)
    return None


def _replay(
    trace: Trace,
    transport: MPITransport,
    options: ReplayOptions,
    args: argparse.Namespace,
    library: Path | None,
) -> RankResult:
    from scalatrace.replay import run as replay_rank
    from scalatrace.replay.compare import compare
    from scalatrace.replay.probabilistic.sampled_calls import is_probabilistic
    from scalatrace.replay.run_compiled import load_library, run_compiled
    from scalatrace.replay.stalls import watch_for_stalls

    watch = partial(watch_for_stalls, transport, args.stall_limit)
    report = _Progress(trace) if transport.rank == 0 else None
    if library is not None:
        code = load_library(library, trace, transport, options)
        result = run_compiled(trace, transport, code, options, report, watch)
    else:
        result = replay_rank(trace, transport, options, report, watch)
    if not args.verify or is_probabilistic(trace):  # whose totals are compared, not what each rank did
        return result
    return replace(result, unequal=compare(trace, result, options))


def _report(trace: Trace, packed: list[bytes] | None, args: argparse.Namespace, engine: str) -> int:
    if packed is None:
        return 0
    from scalatrace.replay import RankResult, ReplaySummary
    from scalatrace.replay.common.whatif import WhatIf
    from scalatrace.replay.compare import compare_totals, sum_recorded_times
    from scalatrace.replay.probabilistic.sampled_calls import is_probabilistic
    from scalatrace.report.replay import ReplayReporter

    summary = ReplaySummary.over([RankResult.unpack(data) for data in packed])
    if args.verify and is_probabilistic(trace):
        summary = replace(summary, unequal=compare_totals(trace, summary, WhatIf(_rules(args))))
    facts: dict[str, Any] = {**asdict(summary), **sum_recorded_times(trace), "engine": engine}
    reporter = ReplayReporter(facts)
    print_facts(args, facts, REPLAYED, reporter.rows(), reporter)
    return 1 if summary.unequal else 0


class _Progress:
    """Says on stderr how far rank 0 is, every few seconds of a long replay."""

    def __init__(self, trace: Trace) -> None:
        from scalatrace.trace.query.counting import executions_of

        first = trace.ranks.first
        self._total = max(1, sum(times for _, times in executions_of(trace, first)))
        self._last_s = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last_s > PROGRESS_S:
            self._last_s = now
            share = f"{done / self._total:.0%} of {self._total:,} events"
            print(f"scalatrace: rank 0 has replayed {share}", file=sys.stderr, flush=True)


def _rules(args: argparse.Namespace) -> tuple[FactorRule, ...]:
    from scalatrace.trace.query.factors import FactorRule

    return (FactorRule(nbytes=args.bytes_scale), *rules_of(args))
