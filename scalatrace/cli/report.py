"""Make one HTML page of a trace, of two side by side, or of runs on several numbers of ranks.

It needs no network: style and scripts are in it. It shows the result of the run and for whom ranks wait,
what to look at next, the loop tree with source lines, a flame graph, patterns of communication, a time line
of some ranks, the communication matrix, groups of ranks, and histograms. Of extrapolated traces it shows the
formulas; with --model also the fitted times. With --platform it simulates the traces on that machine, and
shows predicted times, the longest path and its sensitivity.

Of three or more traces, or of two with --scaling, it shows speed-up, efficiencies over the ranks, how the
time of each call site grows, and what takes most time on more ranks."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalatrace.cli.ideal import with_ideal_run
from scalatrace.cli.named import SiteNames, load_named, load_named_alike
from scalatrace.cli.output import add_json, add_names, add_trace, print_json
from scalatrace.cli.progress import track
from scalatrace.cli.sizes import add_sizes
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output, write_file

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.predict.platform import Platform
    from scalatrace.report.page.comparison import Comparison
    from scalatrace.report.page.gather import PageOptions, TraceAggregates
    from scalatrace.report.page.predictions.simulated import PagePrediction
    from scalatrace.report.page.timeline.lines import SimulateLines
    from scalatrace.trace.model.symbolic import SymbolicTrace

EXAMPLE = (
    "scalatrace report stencil.st\n"
    "  scalatrace report before.st after.st -o both.html --open\n"
    "  scalatrace report stencil.st --platform cluster\n"
    "  scalatrace report stencil.st --ranks 0-7,12 --window 0.5-0.6\n"
    "  scalatrace report big.st --model stencil.stx\n"
    "  scalatrace report run.8.st run.16.st run.32.st -o scaling.html"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    add_sizes(parser)
    parser.add_argument(
        "others",
        nargs="*",
        metavar="trace",
        help="another trace to compare it with, or runs on more ranks",
    )
    parser.add_argument(
        "--scaling",
        action="store_true",
        help="also of two traces: runs on several numbers of ranks",
    )
    work = parser.add_mutually_exclusive_group()
    work.add_argument(
        "--weak", action="store_true", default=None, help="several runs: the work of each rank is the same"
    )
    work.add_argument(
        "--strong",
        dest="weak",
        action="store_false",
        default=None,
        help="several runs: the work of all ranks is the same",
    )
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

    from scalatrace.report.page.page import page

    if not args.json:
        check_output(args.output, "-o")
    if len(args.others) > 1 or args.scaling:
        return _report_scaling(args)
    if args.weak is not None:
        raise UsageError("--weak and --strong are of several runs: give more traces, or --scaling")
    aggregates, comparison = _gather_aggregates(args)
    if args.json:
        print_json(
            {
                "traces": [asdict(trace_aggregates) for trace_aggregates in aggregates],
                "comparison": None if comparison is None else asdict(comparison),
            }
        )
        return 0
    _write(args, page(aggregates, comparison))
    return 0


def _write(args: argparse.Namespace, text: str) -> None:
    written = write_file(args.output, text.encode("utf-8", "replace"))
    print(f"{args.output}: {written:,} bytes")
    if args.open:
        import webbrowser

        webbrowser.open(Path(args.output).absolute().as_uri())


def _report_scaling(args: argparse.Namespace) -> int:
    """Make the page of runs on several numbers of ranks."""
    from dataclasses import asdict

    from scalatrace.report.page.scaling import scaling_page
    from scalatrace.report.scaling.comparison import scaling_of_traces

    paths = [args.trace, *args.others]
    if len(paths) < 2:
        raise UsageError("--scaling needs two traces or more")
    for option in ("ranks", "window", "model", "platform"):
        if getattr(args, option) is not None:
            raise UsageError(f"--{option} is of the page of one or two traces, not of several runs")
    traces = load_named_alike(paths, args.names, args)
    scaling = scaling_of_traces(list(zip(paths, traces, strict=True)), args.weak)
    if args.json:
        print_json(asdict(scaling))
        return 0
    _write(args, scaling_page(scaling))
    for sentence in scaling.sentences:
        print(sentence)
    return 0


def _gather_aggregates(args: argparse.Namespace) -> tuple[list[TraceAggregates], Comparison | None]:
    from scalatrace.report.page.comparison import comparison_of
    from scalatrace.report.page.gather import gather

    paths = [args.trace, *args.others]
    if len(paths) == 1:
        traces = [load_named(args.trace, args.names, args)]
    else:
        traces = load_named_alike(paths, args.names, args)
    shown = _with_predictions(args, _options(args), traces)
    aggregates = [
        gather(trace, path, os.path.getsize(path), options)
        for trace, path, options in track(list(zip(traces, paths, shown, strict=True)), "gathering")
    ]
    if len(traces) == 1:
        return aggregates, None
    return aggregates, comparison_of(traces[0], traces[1], (aggregates[0].summary, aggregates[1].summary))


def _with_predictions(
    args: argparse.Namespace, options: PageOptions, traces: list[Trace]
) -> list[PageOptions]:
    """Return the options of each trace, with its model and its simulation.

    Raises:
        ScalatraceError: a trace cannot be simulated.
    """
    model = _model(args, traces)
    shown = [options for _ in traces]
    instances_of_traces: list[Iterable[Trace]] = [() for _ in traces]
    if model is not None:
        from scalatrace.cli.model_page import instances, with_model

        shown = [with_model(options, model, trace) for trace in traces]
        instances_of_traces = [instances(model, trace) for trace in traces]
    shown = [
        with_ideal_run(page_options, trace)
        for page_options, trace in track(list(zip(shown, traces, strict=True)), "following waits")
    ]
    if args.platform is None:
        return shown
    from scalatrace.predict.platform import read_platform

    platform = read_platform(args.platform)
    with_simulations = []
    for aggregates, trace, sizes in zip(shown, traces, instances_of_traces, strict=True):
        prediction, simulate_lines = predict(trace, platform, sizes)
        with_simulations.append(replace(aggregates, prediction=prediction, simulate_lines=simulate_lines))
    return with_simulations


def _options(args: argparse.Namespace) -> PageOptions:
    from scalatrace.record.selection import parse_window
    from scalatrace.report.page.gather import PageOptions
    from scalatrace.report.page.timeline.rows import TimelineWindow

    try:
        first, last = (0.0, None) if args.window is None else parse_window(args.window)
    except UsageError as error:
        raise UsageError(f"--window {error}") from None
    window = TimelineWindow(first, float("inf") if last is None else last)
    return PageOptions(_ranks(args.ranks), window, not args.no_source)


def _model(args: argparse.Namespace, traces: list[Trace]) -> SymbolicTrace | None:
    """Return the symbolic trace, with the names of call sites that the traces have; None: there is none."""
    from scalatrace.trace.io.container import is_symbolic
    from scalatrace.trace.io.reader import load_symbolic

    path = args.model or (args.trace if is_symbolic(args.trace) else None)
    if path is None:
        return None
    model = load_symbolic(path)
    names = SiteNames.of(model, path, args.names)
    # Two traces may both keep offsets: then the call sites of the model have to as well.
    keeps = any(names.known.keys() & set(trace.frames) for trace in traces)
    return model if keeps else names.trace(model)


def _ranks(text: str | None) -> tuple[int, ...]:
    """Return the ranks of `0-7,12`. Raises UsageError."""
    from scalatrace.report.page.timeline.lines import MAX_RANKS

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


_MPI = re.compile(r"(Open MPI|MPICH|MVAPICH\d?|Intel\(R\) MPI Library) v?[\d.]*\d")
"""MPI in the description of a platform that was calibrated."""

SENSITIVITY = {
    "latency": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "bandwidth": (0.25, 0.5, 1.0, 2.0, 4.0),
    "compute": (0.5, 0.75, 1.0, 1.5, 2.0),
}
"""Factors on the platform for which small traces are simulated again."""


def predict(
    trace: Trace, platform: Platform, other_traces: Iterable[Trace] = ()
) -> tuple[PagePrediction, SimulateLines]:
    """Simulate a trace; return the prediction, and what gives the times of calls in the run that it shows.

    Args:
        other_traces: the program on other numbers of ranks, ascending.

    Raises:
        ScalatraceError: the trace cannot be simulated.
    """
    from scalatrace.cli.simulation import Simulated
    from scalatrace.report.costs.efficiency import Efficiency, rank_bins
    from scalatrace.report.page.predictions.simulated import PagePrediction
    from scalatrace.trace.consistency.failed import repeatable
    from scalatrace.trace.model.nodes import node_numbers

    trace = repeatable(trace, keep_failed=True).without_phases
    simulated = Simulated(trace, platform)
    numbers = node_numbers(trace.nodes)
    links = {
        "links": simulated.hottest_links(),
        "link_map": simulated.link_map(),
        "link_drawing": simulated.link_drawing(),
    }  # of the run with mean times
    mean_ns, interval = simulated.means()["time_ns"], simulated.drawn()
    waiting = {numbers[event]: times["waiting_ns"] for event, times in simulated.event_times().items()}
    seed = simulated.show_median()
    facts, curves = simulated.facts(), dict[str, list[dict[str, Any]]]()
    facts |= {"drawn": interval, "mean_ns": mean_ns, "seed": seed, "means": simulated.means()}
    facts |= {"machine": _machine(platform, trace), **links}
    if simulated.is_small:
        facts["tolerance"] = simulated.tolerance()
        curves = {name: simulated.sweep({name: factors}) for name, factors in SENSITIVITY.items()}
    scaling = list(_scaling(other_traces, platform))
    facts["scaling"] = [*scaling, {"ranks": trace.nprocs, **facts["means"]}] if scaling else []
    nodes = {numbers[event]: times for event, times in simulated.event_times().items()}
    rows = {by: simulated.rows(by) for by in ("operation", "site")}
    ranks = rank_bins(Efficiency(tuple(trace.ranks), *simulated.rank_times()))
    return PagePrediction.of(facts, rows, curves, nodes, waiting, ranks), simulated.call_times


def _scaling(traces: Iterable[Trace], platform: Platform) -> Iterator[dict[str, float]]:
    """Yield ranks, and run time and means of a rank of the drawn run with the median time.

    Traces that cannot be simulated are left out.
    """
    from scalatrace.cli.simulation import Simulated

    for trace in traces:
        with suppress(ScalatraceError):
            simulated = Simulated(trace, platform)
            simulated.drawn()
            simulated.show_median()
            yield {"ranks": trace.nprocs, **simulated.means()}


def _machine(platform: Platform, trace: Trace) -> dict[str, Any]:
    """Return what limits messages on a platform, and the nodes that the ranks of a trace take."""
    mpi = trace.meta.get("mpi", "").partition(",")[0]
    nodes = platform.placed(trace.nprocs, trace.meta).count_nodes(trace.nprocs)
    segments = (platform.network if nodes > 1 else platform.memory or platform.network).segments
    per_byte_ns = segments[-1].per_byte_ns
    latencies = [segment.latency_ns for segment in segments]
    measured = _MPI.search(platform.description)
    return {
        "description": platform.description,
        "other_mpi": mpi if mpi and measured and not mpi.startswith(measured[0]) else "",
        "latency_ns": sorted({min(latencies), max(latencies)}),
        "bytes_per_s": 1e9 / per_byte_ns if per_byte_ns else None,
        "nodes": nodes,
    }
