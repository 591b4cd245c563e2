"""The engine of a replay: a compiled program where one can be made, else Python; C from `codegen`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scalatrace.errors import ScalatraceError

if TYPE_CHECKING:
    from pathlib import Path

    from scalatrace import Trace
    from scalatrace.replay import ReplayOptions
    from scalatrace.replay.transport.mpi import MPITransport

ENGINES = ("auto", "compiled", "python")

MIN_EVENTS = 50_000
"""Events of a rank from which `auto` compiles: Python replays fewer in the time that compiling takes."""

MAX_CALLS = 600
"""Call statements of a program that `auto` compiles: each takes the compiler some 10 ms."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the choice of the engine."""
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="compiled: by a C program, built with mpicc on first use; auto: for long traces (default)",
    )


def compiled_library(
    trace: Trace, transport: MPITransport, options: ReplayOptions, engine: str
) -> Path | None:
    """Return the library that replays a trace here, on all ranks; None: replay in Python.

    Raises:
        ScalatraceError: `compiled` was asked for and is not possible; on all ranks.
    """
    if engine == "python" or (engine == "auto" and trace.nevents() < MIN_EVENTS * trace.nprocs):
        return None
    reason = _agree_on_reason(transport, _misfit(trace))
    if not reason:
        source, reason = b"", ""
        if transport.rank == 0:
            source, reason = _source(trace, options, engine)
        reason = _agree_on_reason(transport, reason)
    if reason:
        if engine == "compiled":
            raise ScalatraceError(f"--engine compiled: {reason}; use --engine python")
        return None
    path, reason = _built(transport.broadcast(source).decode(), transport.rank == 0)
    if not (reason := _agree_on_reason(transport, reason)):
        return path
    if engine == "compiled":
        raise ScalatraceError(f"--engine compiled: {reason}")
    if transport.rank == 0:
        print(f"scalatrace: replaying in Python: {reason}", file=sys.stderr)
    return None


def _agree_on_reason(transport: MPITransport, reason: str) -> str:
    """Return the first reason of any rank, on all ranks."""
    reasons = transport.gather(reason.encode())
    return transport.broadcast(next(filter(None, reasons or ()), b"")).decode()


def _misfit(trace: Trace) -> str:
    """Return why a trace cannot be replayed by a program of its calls; "" when it can."""
    from scalatrace.replay.probabilistic.sampled_calls import is_probabilistic

    if is_probabilistic(trace):
        return "values of the trace are known by histograms only"
    return ""


def _source(trace: Trace, options: ReplayOptions, engine: str) -> tuple[bytes, str]:
    """Return the C text of a trace, or why there is none."""
    from scalatrace.codegen.emit.interface import EmitOptions
    from scalatrace.codegen.generate import GenerateOptions, generate
    from scalatrace.replay import CollectiveMode, ComputeMode, TimeChoice

    if engine == "auto" and sum(1 for _ in trace.leaves()) > MAX_CALLS:
        return b"", f"more than {MAX_CALLS} calls in the trace's compressed form"
    written = GenerateOptions(
        EmitOptions(drawn=options.times is TimeChoice.DRAWN, io_folder=options.io_folder, hosted=True),
        compute_scale=0.0 if options.compute is ComputeMode.NONE else options.compute_scale,
        by_messages=options.collectives is CollectiveMode.P2P,
        rules=options.rules,
    )
    try:
        benchmark = generate(trace, "c", written)
    except ScalatraceError as error:
        return b"", str(error)
    if engine == "auto" and benchmark.calls > MAX_CALLS:
        return b"", f"more than {MAX_CALLS} calls in the program"
    return benchmark.text.encode(), ""


def _built(source: str, speaks: bool) -> tuple[Path | None, str]:
    """Return the library of a text, or why there is none."""
    from scalatrace.compilers.generated import shared_library
    from scalatrace.replay.run_compiled import REPLAY

    try:
        return shared_library(REPLAY, source, speaks), ""
    except ScalatraceError as error:
        return None, str(error)
