"""`python -m scalatrace.record [options] app.py [arguments]`: the same as `scalatrace record`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TypeVar

from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.record.launch import STACKS, RecordOptions, launch, parse_meta
from scalatrace.record.policy import IRREGULAR, RecordingPolicy, from_toml, parse_limit, parse_parameters
from scalatrace.record.refusal import refused_together
from scalatrace.record.selection import CallSelection, parse_size, parse_window, parse_words
from scalatrace.record.stats import BUILTINS, parse_stats
from scalatrace.trace.model.sites import parse_ranges, parse_sites

S = TypeVar("S")
T = TypeVar("T")


GroupMaker = Callable[[str], argparse._ArgumentGroup]
"""Returns the group of a parser with this title."""


def arguments(parser: argparse.ArgumentParser, new_group: GroupMaker | None = None) -> None:
    """Declare the options of recording.

    Args:
        new_group: makes the groups of options that few users need; default: groups as the others.
    """
    new_group = new_group or parser.add_argument_group
    parser.add_argument(
        "-o",
        "--output",
        default="out.st",
        metavar="FILE",
        help="the trace (default: %(default)s); %%j is the job, %%a the array task, %%r times restarted, "
        "%%h the host, %%p the process, %%%% a percent sign",
    )
    parser.add_argument("--stacks", choices=STACKS, default="auto", help="call stacks (default: auto)")
    parser.add_argument(
        "--resolve", action="store_true", help="store source lines of native call sites in the trace"
    )
    parser.add_argument("--report", metavar="FILE", help="make an HTML page of the trace after the run")
    parser.add_argument("--flat-log", metavar="DIR", help="also write every event to DIR/rank-R.log")
    parser.add_argument("--checkpoint", type=int, default=0, metavar="S", help="save parts every S seconds")
    parser.add_argument(
        "--param", action="append", default=[], metavar="N=V", help="parameter of the program"
    )
    parser.add_argument(
        "--histograms",
        type=int,
        metavar="N",
        help="past N values, store a histogram of sources, destinations, counts and their arrays",
    )
    parser.add_argument("--quiet", action="store_true", help="print no warnings, and nothing about the trace")
    parser.add_argument(
        "--json", action="store_true", help="print the line about the trace as JSON, on standard error"
    )
    _further_arguments(new_group("further options"))
    _policy_arguments(new_group("parameters and call sites to summarise"))
    _selection_arguments(parser.add_argument_group("calls to record (all conditions must hold)"))
    parser.add_argument("program", nargs=argparse.REMAINDER, help="[--] program [arguments]")


def _further_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--stack-depth", type=int, default=32, metavar="N", help="innermost frames (default: 32)"
    )
    group.add_argument(
        "--no-fold-recursion", action="store_true", help="keep repeated sequences of frames in call stacks"
    )
    group.add_argument("--record-queries", action="store_true", help="record local queries as events, too")
    group.add_argument("--no-compress", action="store_true", help="do not deflate the trace")
    group.add_argument("--meta", action="append", default=[], metavar="K=V", help="entry for the header")
    group.add_argument(
        "--stat",
        action="append",
        default=[],
        metavar="NAME[:WHEN]",
        help=f"measure {', '.join(BUILTINS)}, ./libmine.so (see st_plugin.h) or a scalatrace.Stat "
        "(module:Class, file.py:Class) in the computation before each call, :call inside it, :both",
    )


def _policy_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--policy", metavar="FILE", help="read these options from a TOML file")
    group.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="P=HOW",
        help="keep, drop or histogram[:N] (past N values) for a parameter: count, Alltoallv.sendcounts, ...",
    )
    group.add_argument(
        "--signature-tolerance",
        type=int,
        metavar="N",
        help="treat call sites up to N lines (native: bytes) apart as one",
    )
    group.add_argument(
        "--signature-range",
        action="append",
        default=[],
        metavar="FILE:A-B",
        help="treat the call sites in these lines as one",
    )
    group.add_argument("--no-loop-alignment", action="store_true", help=argparse.SUPPRESS)
    group.add_argument("--no-loop-agnostic-merge", action="store_true", help=argparse.SUPPRESS)


def _selection_arguments(group: argparse._ArgumentGroup) -> None:
    words = "names (I*send), or p2p, collective, rma, io, comm, types"
    sites = "calls with FILE (lines A to B of it) on their stack"
    for option, metavar, text in (
        ("--only", "OPS", f"operations: {words}"),
        ("--except", "OPS", "exclude these"),
        ("--only-sites", "FILE[:A-B]", sites),
        ("--except-sites", "FILE[:A-B]", "exclude these"),
        ("--window", "A-B", "calls that begin in these seconds since MPI_Init; A- and -B are open"),
        ("--communicators", "NAMES", "calls on these: world, self, cart, ..., or names set by the program"),
    ):
        group.add_argument(option, action="append", default=[], metavar=metavar, help=text)
    group.add_argument("--min-bytes", metavar="N", help="calls that move at least N bytes: 64, 4k, 2M")
    group.add_argument("--max-bytes", metavar="N", help="calls that move at most N bytes")


def _parse_option(option: str, parse: Callable[[S], T], value: S) -> T:
    """Return `parse(given)`; its UsageError names the option."""
    try:
        return parse(value)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def _selection_of(args: argparse.Namespace) -> CallSelection:
    return CallSelection(
        only=_parse_option("--only", parse_words, args.only),
        excluded=_parse_option("--except", parse_words, getattr(args, "except")),
        only_sites=_parse_option("--only-sites", parse_sites, args.only_sites),
        except_sites=_parse_option("--except-sites", parse_sites, args.except_sites),
        min_bytes=None
        if args.min_bytes is None
        else _parse_option("--min-bytes", parse_size, args.min_bytes),
        max_bytes=None
        if args.max_bytes is None
        else _parse_option("--max-bytes", parse_size, args.max_bytes),
        windows=[_parse_option("--window", parse_window, text) for text in args.window],
        communicators=_parse_option("--communicators", parse_words, args.communicators),
    )


def _policy_of(args: argparse.Namespace) -> RecordingPolicy:
    base = from_toml(args.policy) if args.policy else RecordingPolicy()
    summarised: dict[str, int] = {}
    if args.histograms is not None:
        limit = _parse_option("--histograms", parse_limit, f"histogram:{args.histograms}")
        summarised = dict.fromkeys(IRREGULAR, limit)
    return RecordingPolicy(
        parameters={
            **summarised,
            **base.parameters,
            **_parse_option("--parameter", parse_parameters, args.parameter),
        },
        tolerance=base.tolerance if args.signature_tolerance is None else args.signature_tolerance,
        ranges=[*base.ranges, *_parse_option("--signature-range", parse_ranges, args.signature_range)],
        selection=_selection_of(args).over(base.selection),
        loop_alignment=not args.no_loop_alignment,
        loop_agnostic=not args.no_loop_agnostic_merge,
        fold_recursion=not args.no_fold_recursion,
        stats=_parse_option("--stat", parse_stats, [*(stat.word for stat in base.stats), *args.stat]),
    )


def options_of(args: argparse.Namespace) -> RecordOptions:
    return RecordOptions(
        output=args.output,
        stacks=args.stacks,
        stack_depth=args.stack_depth,
        flat_log=args.flat_log,
        checkpoint=args.checkpoint,
        record_queries=args.record_queries,
        quiet=args.quiet,
        json=args.json,
        compress=not args.no_compress,
        resolve=args.resolve,
        report=args.report,
        policy=_policy_of(args),
        meta={**parse_meta("--meta", args.meta), **parse_meta("--param", args.param, "param.")},
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scalatrace.record", description=__doc__)
    arguments(parser)
    args = parser.parse_args()
    words = args.program[1:] if args.program[:1] == ["--"] else args.program
    try:
        with refused_together(words):
            launch(options_of(args), words)
    except ScalatraceError as error:
        print(f"scalatrace: {error}", file=sys.stderr)
        return error.exit_status


if __name__ == "__main__":
    sys.exit(main())
