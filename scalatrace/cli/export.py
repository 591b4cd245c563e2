"""Export a trace to simulators (GOAL, SimGrid, Chakra), viewers (OTF2, Perfetto, Chrome, Paraver), tables
(CSV, Parquet) and Extra-P.

Simulators get messages between ranks of MPI_COMM_WORLD; the table at the end lists what was lowered to them
and what is lost. The others get calls with start and end times: reconstructed from recorded means, or
with --platform those of a run that is simulated on it."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

from scalatrace.cli.output import add_formats, print_facts, print_json
from scalatrace.cli.progress import stage
from scalatrace.cli.sizes import add_sizes, read_traces
from scalatrace.errors import UsageError
from scalatrace.report.predictions.columns import ACCOUNT

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.predict.export.formats import ExportSelection

EXAMPLE = (
    "scalatrace export app.st --to goal -o app.goal\n"
    "  scalatrace export app.st --to otf2 -o app.otf2 --ranks 0-7,64 --window 1.5s:2s\n"
    "  scalatrace export app.st --to chrome -o app.json --ranks 0-15 && gzip app.json\n"
    "  scalatrace export app.st --to perfetto -o predicted.pftrace --platform cluster\n"
    "  scalatrace export app.4.st app.8.st app.16.st app.32.st app.64.st --to extrap -o app.json"
)

NAMES = (
    "goal", "simgrid", "chakra", "csv", "parquet", "otf2", "perfetto", "chrome", "paraver", "extrap",
)  # fmt: skip

MAX_BYTES = 1 << 30
"""Larger exports need --large."""

MAX_RANKS = 1 << 20
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "": 1e9}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("traces", nargs="+", metavar="trace", help="trace file (.st); several for extrap")
    add_sizes(parser)
    parser.add_argument("--to", required=True, choices=NAMES, help="format")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="file or folder to write")
    parser.add_argument("--ranks", type=ranks, metavar="LIST", help="only these ranks, such as 0-7,64")
    parser.add_argument(
        "--window", type=window, metavar="START:END",
        help="only calls in this time since the start, such as 1.5s:2s or 0:300ms",
    )  # fmt: skip
    parser.add_argument(
        "--platform",
        metavar="FILE",
        help="events: the times of a run simulated on this platform, in place of recorded ones; simulators: "
        "algorithms of collectives, factors on computation",
    )
    parser.add_argument(
        "--collectives", choices=("kept", "messages"), default="kept",
        help="simulators: keep collectives that the format has (default), or make all of them messages",
    )  # fmt: skip
    parser.add_argument("--large", action="store_true", help="write more than 1 GB")
    parser.add_argument("--dry-run", action="store_true", help="only estimate the size")
    add_formats(parser, ACCOUNT)


def ranks(text: str) -> tuple[int, ...]:
    """Return the ranks of a list such as 0-7,64; for argparse."""
    chosen: set[int] = set()
    for part in text.split(","):
        if not (match := re.fullmatch(r"(\d+)(?:-(\d+))?", part)):
            raise argparse.ArgumentTypeError(f"{part!r} is no rank and no range such as 0-7")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MAX_RANKS:
            raise argparse.ArgumentTypeError(f"{part!r} is no range of at most {MAX_RANKS} ranks")
        chosen.update(range(first, last + 1))
    return tuple(sorted(chosen))


def window(text: str) -> tuple[float, float]:
    """Return start and end in ns of a window such as 1.5s:2s; for argparse."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s|):(\d+(?:\.\d+)?)(ns|us|ms|s|)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no window; write START:END, such as 1.5s:2s")
    start, end = float(match[1]) * _UNITS[match[2]], float(match[3]) * _UNITS[match[4]]
    if start >= end:
        raise argparse.ArgumentTypeError(f"{text!r}: the end is not after the start")
    return start, end


def run(args: argparse.Namespace) -> int:
    """Load, show the size, write, report."""
    from scalatrace.predict.export.formats import FORMATS, estimated_bytes, export, size_of
    from scalatrace.report.predictions.export import ExportReporter
    from scalatrace.report.style import nbytes
    from scalatrace.trace.consistency.failed import repeatable

    form, selection = FORMATS[args.to], _selection(args)
    traces = [repeatable(trace) for trace in read_traces(args.traces, args)]
    if form.kind != "experiment":
        traces = [with_senders(trace) for trace in traces]
    estimate = 0 if form.kind == "experiment" else estimated_bytes(form, traces[0], selection)
    facts = {"format": args.to, "output": args.output, "estimated_bytes": estimate}
    if args.dry_run and args.json:
        print_json(facts)
        return 0
    if estimate and not (args.json or args.csv):
        sys.stderr.write(f"scalatrace: about {nbytes(estimate)} to {args.output}\n")
    if args.dry_run:
        return 0
    if estimate > MAX_BYTES and not args.large:
        raise UsageError(f"about {nbytes(estimate)}: choose fewer ranks with --ranks, or give --large")
    stage("writing")
    account = export(form, traces, args.output, selection)
    facts |= {"bytes": size_of(args.output), "account": account}
    print_facts(args, facts, ACCOUNT, account, ExportReporter(facts, _notes(args, selection, traces[0])))
    return 0


def _selection(args: argparse.Namespace) -> ExportSelection:
    from scalatrace.predict.export.formats import FORMATS, ExportSelection
    from scalatrace.predict.platform import read_platform

    kind = FORMATS[args.to].kind
    if kind == "experiment" and (args.ranks or args.window):
        raise UsageError("--to extrap takes whole traces, without --ranks and --window")
    if kind != "simulator" and args.collectives != "kept":
        raise UsageError(f"--collectives is for simulators, not for --to {args.to}")
    if kind == "experiment" and args.platform:
        raise UsageError(f"--platform is for simulators and events, not for --to {args.to}")
    platform = read_platform(args.platform) if args.platform else None
    return ExportSelection(args.ranks, args.window, platform, args.collectives == "kept")


def with_senders(trace: Trace) -> Trace:
    """Give receives from any source a sender: formats have no order in which they would choose one."""
    from scalatrace.codegen.matching import has_unnamed_senders, resolve_wildcards

    return resolve_wildcards(trace) if has_unnamed_senders(trace) else trace


def _notes(args: argparse.Namespace, selection: ExportSelection, trace: Trace) -> list[str]:
    from scalatrace.executor.alone import why_not_alone
    from scalatrace.predict.export.simgrid_platform import HOSTS, PLATFORM, list_unsupported
    from scalatrace.trace.threads import order_note, thread_count

    note = order_note(trace) if thread_count(trace.meta) > 1 else why_not_alone(trace)
    threads = [f"a simulator may not end: {note}"] if note else []

    if args.to == "simgrid":
        platform = selection.platform
        files = (PLATFORM, HOSTS) if platform else ("P.xml", "H.txt")
        command = (
            f"cd {args.output} && smpirun -np {len(selection.ranks or trace.ranks)} -platform {files[0]} "
            f"-hostfile {files[1]} -replay ranks.txt --cfg=smpi/host-speed:1Gf"
        )
        return [*threads, *(list_unsupported(platform) if platform else ()), f"replay: {command}"]
    if args.to in ("goal", "chakra", "extrap"):
        return threads
    if selection.platform is not None:
        return [
            f"times are those of a run simulated on {selection.platform.name}, without start-up and shut-down"
        ]
    return ["times are reconstructed from means; a call's own time was not recorded"]
