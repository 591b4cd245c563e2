"""Make one HTML page of a trace, or of two side by side. It needs no network: style and scripts are in it.

It shows efficiencies and what to look at next, the loop tree with source lines, a flame graph, patterns of
communication, a time line of some ranks, the communication matrix, groups of ranks, and histograms.
Of extrapolated traces it shows the formulas; with --model also the fitted times. With --platform it simulates
the traces on that machine, and shows predicted times, the longest path and its sensitivity."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalatrace.cli.named import Names, load_named, load_named_alike
from scalatrace.cli.output import add_json, add_names, add_trace, print_json
from scalatrace.cli.progress import track
from scalatrace.errors import UsageError

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.predict.platform import Platform
    from scalatrace.report.page.comparison import Comparison
    from scalatrace.report.page.gather import Options, TraceAggregates
    from scalatrace.report.page.predictions.simulated import Prediction

EXAMPLE = (
    "scalatrace report stencil.st\n"
    "  scalatrace report before.st after.st -o both.html --open\n"
    "  scalatrace report stencil.st --ranks 0-7,12 --window 0.5-0.6\n"
    "  scalatrace report big.st --model stencil.stx\n"
    "  scalatrace report stencil.st --platform cluster"
)

SENSITIVITY = {
    "latency": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "bandwidth": (0.25, 0.5, 1.0, 2.0, 4.0),
    "compute": (0.5, 0.75, 1.0, 1.5, 2.0),
}
"""Factors on the platform for which small traces are simulated again."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument("other", nargs="?", help="trace file to compare it with")
    parser.add_argument("-o", "--output", default="report.html", metavar="FILE", help="default: report.html")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--ranks", metavar="RANKS", help="time line: these ranks, such as 0-7,12")
    parser.add_argument(
        "--window", metavar="A-B", help="time line: these seconds since the first call; A- and -B are open"
    )
    parser.add_argument("--model", metavar="FILE", help="the symbolic trace (.stx) that TRACE was made of")
    parser.add_argument(
        "--platform", metavar="FILE", help="simulate on this platform file (.toml), or an installed platform"
    )
    parser.add_argument("--no-source", action="store_true", help="do not put source lines into the page")
    add_names(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load the traces, gather what the page shows, and write it."""
    from dataclasses import asdict

    from scalatrace.files import check_output, write_file
    from scalatrace.report.page.page import page

    if not args.json:
        check_output(args.output, "-o")
    aggregates, comparison = _gathered(args)
    if args.json:
        print_json(
            {
                "traces": [asdict(one) for one in aggregates],
                "comparison": None if comparison is None else asdict(comparison),
            }
        )
        return 0
    written = write_file(args.output, page(aggregates, comparison).encode("utf-8", "replace"))
    print(f"{args.output}: {written:,} bytes")
    if args.open:
        import webbrowser

        webbrowser.open(Path(args.output).absolute().as_uri())
    return 0


def _gathered(args: argparse.Namespace) -> tuple[list[TraceAggregates], Comparison | None]:
    from scalatrace.report.page.comparison import comparison_of
    from scalatrace.report.page.gather import gather

    paths = [args.trace] if args.other is None else [args.trace, args.other]
    for path in paths:
        _need_trace(path)
    if len(paths) == 1:
        traces = [load_named(args.trace, args.names)]
    else:
        traces = list(load_named_alike((args.trace, args.other), args.names))
    options = _options(args)
    shown = _with_model(args, options, traces)
    predictions = _predictions(traces, args.platform)
    aggregates = [
        gather(trace, path, os.path.getsize(path), replace(options, prediction=prediction))
        for trace, path, options, prediction in track(
            list(zip(traces, paths, shown, predictions, strict=True)), "gathering"
        )
    ]
    if len(traces) == 1:
        return aggregates, None
    return aggregates, comparison_of(traces[0], traces[1], (aggregates[0].summary, aggregates[1].summary))


def _predictions(traces: Sequence[Trace], name: str | None) -> list[Prediction | None]:
    """Simulate all traces on a platform. Raises ScalatraceError where that cannot be done."""
    if name is None:
        return [None] * len(traces)
    from scalatrace.predict.platform import read_platform

    platform = read_platform(name)
    return [_prediction(trace, platform) for trace in traces]


def _prediction(trace: Trace, platform: Platform) -> Prediction:
    from scalatrace.cli.simulation import Simulated
    from scalatrace.report.page.predictions.simulated import Prediction
    from scalatrace.report.page.tree import node_numbers

    simulated = Simulated(trace, platform)
    mean_ns, interval = simulated.facts()["time_ns"], simulated.drawn()
    seed = simulated.show_median()
    facts, curves = simulated.facts(), dict[str, list[dict[str, Any]]]()
    facts |= {"drawn": interval, "mean_ns": mean_ns, "seed": seed}
    if simulated.is_small:
        facts["tolerance"] = simulated.tolerance()
        curves = {name: simulated.sweep({name: factors}) for name, factors in SENSITIVITY.items()}
    numbers = node_numbers(trace)
    waiting = {numbers[event]: ns for event, ns in simulated.waiting().items()}
    return Prediction.of(facts, {by: simulated.rows(by) for by in ("operation", "site")}, curves, waiting)


def _need_trace(path: str) -> None:
    from scalatrace.trace.io.container import is_symbolic

    if is_symbolic(path):
        raise UsageError(
            f"{path} holds formulas: make a trace of it with `scalatrace instantiate`, "
            f"and report that with --model {path}"
        )


def _options(args: argparse.Namespace) -> Options:
    from scalatrace.record.selection import parse_window
    from scalatrace.report.page.gather import Options
    from scalatrace.report.page.timeline import Window

    try:
        first, last = (0.0, None) if args.window is None else parse_window(args.window)
    except UsageError as error:
        raise UsageError(f"--window {error}") from None
    window = Window(first, float("inf") if last is None else last)
    return Options(_ranks(args.ranks), window, not args.no_source)


def _with_model(args: argparse.Namespace, options: Options, traces: list[Trace]) -> list[Options]:
    """Return the options of each trace."""
    if not args.model:
        return [options] * len(traces)
    from scalatrace.cli.model_page import with_model
    from scalatrace.extrap.stx import load

    model = load(args.model)
    names = Names.of_model(model, args.model, args.names)
    # Two traces may both keep offsets: then the call sites of the model have to as well.
    named = [model if names.known.keys() & set(trace.frames) else names.model(model) for trace in traces]
    return [with_model(options, one, trace) for one, trace in zip(named, traces, strict=True)]


def _ranks(text: str | None) -> tuple[int, ...]:
    """Return the ranks of `0-7,12`. Raises UsageError."""
    from scalatrace.report.page.timeline import MAX_RANKS

    ranks: list[int] = []
    for word in (text or "").split(",") if text is not None else ():
        first, dash, last = word.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise UsageError(
                f"--ranks {text}: {word!r} is no rank and no range of ranks; give such as 0-7,12"
            )
        stop = int(last if dash else first) + 1
        if stop - int(first) + len(ranks) > MAX_RANKS:
            raise UsageError(f"--ranks {text}: more than {MAX_RANKS} ranks; give fewer")
        ranks += range(int(first), stop)
    return tuple(dict.fromkeys(ranks))
