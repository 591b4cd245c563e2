"""Read a trace, or make one from the formulas of a symbolic trace with the sizes of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from scalatrace.cli.output import natural
from scalatrace.cli.parsing import further
from scalatrace.cli.progress import stage, track
from scalatrace.errors import UsageError

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.extrap.extrapolate import Extrapolation
    from scalatrace.trace.model.symbolic import SymbolicTrace

__all__ = [
    "Dims",
    "TargetSizes",
    "add_plugins",
    "add_sizes",
    "evaluate",
    "parse_dims",
    "parse_params",
    "read_any",
    "read_trace",
    "read_traces",
]

Dims = tuple[int, ...]
"""Sizes of a grid."""


@dataclass(frozen=True)
class TargetSizes:
    """What the formulas of a symbolic trace are evaluated for.

    Attributes:
        nprocs: ranks.
        dims: sizes of the grid; None: derived from the grids of the input traces.
        params: parameters of the program.
    """

    nprocs: int
    dims: Dims | None
    params: Mapping[str, int]

    @classmethod
    def of(cls, args: argparse.Namespace) -> TargetSizes | None:
        """Return the sizes that the options give; None: neither ranks nor a grid. Raises UsageError."""
        if args.nprocs is None and args.dims is None:
            return None
        dims = None if args.dims is None else parse_dims("--dims", args.dims)
        return cls(prod(dims or ()) if args.nprocs is None else args.nprocs, dims, parse_params(args.param))


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `TargetSizes`, and plug-ins of formulas."""
    of = "of a symbolic trace (.stx):"
    parser.add_argument("-P", type=natural, metavar="N", dest="nprocs", help=f"{of} number of ranks")
    group = further(parser)
    group.add_argument(
        "--dims", metavar="XxYxZ", help=f"{of} grid of ranks (default: derived from the grids of its traces)"
    )
    group.add_argument(
        "--param", action="append", default=[], metavar="N=V", help=f"{of} parameter of the program"
    )
    add_plugins(parser)


def add_plugins(
    parser: argparse.ArgumentParser, meaning: str = "Python file with additional formulas"
) -> None:
    """Declare `--plugin`."""
    further(parser).add_argument("--plugin", action="append", default=[], metavar="FILE", help=meaning)


def read_any(path: str, args: argparse.Namespace) -> Trace | SymbolicTrace:
    """Return the trace of a file: with the sizes of `add_sizes`, or symbolic where they are missing.

    Raises:
        UsageError: sizes are given for a trace that has its own. ScalatraceError: no trace can be made.
    """
    return _read_all((path,), args)[0]


def read_trace(path: str, args: argparse.Namespace) -> Trace:
    """Return the trace of a file; as `read_traces`."""
    return read_traces((path,), args)[0]


def read_traces(paths: Sequence[str], args: argparse.Namespace) -> list[Trace]:
    """Return the traces of files; those of formulas are made for the sizes of `add_sizes`, and checked.

    Raises:
        UsageError: sizes are missing, or are given for traces only. ScalatraceError: no trace can be made.
    """
    from scalatrace.trace.model.trace import Trace

    traces = []
    for path, trace in zip(paths, _read_all(paths, args), strict=True):
        if not isinstance(trace, Trace):
            raise UsageError(f"{path} holds formulas for any number of ranks: give -P N or --dims XxY")
        traces.append(trace)
    return traces


def _read_all(paths: Sequence[str], args: argparse.Namespace) -> list[Trace | SymbolicTrace]:
    from scalatrace.trace.io.container import is_symbolic
    from scalatrace.trace.io.reader import load_any
    from scalatrace.trace.model.trace import Trace

    sizes = TargetSizes.of(args)
    if args.plugin or any(
        map(is_symbolic, paths)
    ):  # importing the tool takes longer than reading most traces
        from scalatrace.extrap.grid.plugins import load_plugins

        load_plugins(args.plugin)
    traces = [load_any(path) for path in track(paths, "reading")]
    if (sizes is not None or args.param) and all(isinstance(trace, Trace) for trace in traces):
        option = "-P" if args.nprocs is not None else "--dims" if args.dims is not None else "--param"
        raise UsageError(f"{option}: {paths[0]} is a trace, whose size is fixed; leave it out")
    if sizes is None:
        return traces
    timing = getattr(args, "timing_model", None)
    return [
        trace if isinstance(trace, Trace) else _bind(path, trace, sizes, timing)
        for path, trace in zip(paths, traces, strict=True)
    ]


def _bind(path: str, formulas: SymbolicTrace, sizes: TargetSizes, timing: str | None) -> Trace:
    """Return the trace of a symbolic one for these sizes, as `extrapolate` writes it."""
    from scalatrace.trace.io.reader import loads
    from scalatrace.trace.io.writer import dumps

    result = evaluate(formulas, sizes, (timing, 0.0))
    for warning in result.warnings:
        print(f"scalatrace: {path}: {warning}", file=sys.stderr)
    return loads(dumps(result.trace, compress=False), path)


def evaluate(
    model: SymbolicTrace,
    sizes: TargetSizes,
    timing: tuple[str | None, float] = (None, 0.0),
    workers: int = 1,
    accept_unconfirmed: bool = False,
    check: bool = True,
) -> Extrapolation:
    """Evaluate formulas for sizes; compare the calls of the result with each other.

    Args:
        timing: name of a timing model, None for the best fit; and how much whole runs differ.
        check: whether calls are compared.
    """
    from scalatrace.extrap.extrapolate import checked_matching, of_model

    stage(f"evaluating for {sizes.nprocs:,} ranks")
    result = of_model(model, sizes.nprocs, sizes.dims, sizes.params, *timing, workers, accept_unconfirmed)
    stage("checking that the calls match")
    matching = checked_matching((), result, sizes.params, workers) if check else ""
    return replace(result, matching=matching)


def parse_dims(option: str, text: str) -> Dims:
    """Return `(8, 4)` for `8x4`. Raises UsageError."""
    try:
        dims = tuple(int(word) for word in text.lower().split("x"))
    except ValueError:
        dims = ()
    if not dims or min(dims) < 1:
        raise UsageError(f"{option} {text}: not a grid; give its sizes such as 8x4 or 4x4x2")
    return dims


def parse_params(pairs: Sequence[str]) -> dict[str, int]:
    """Return `{"n": 4096}` for `["n=4096"]`. Raises UsageError."""
    from scalatrace.extrap.extrapolate import parse_input
    from scalatrace.record.launch import parse_meta

    return {name: parse_input(name, text) for name, text in parse_meta("--param", pairs).items()}
