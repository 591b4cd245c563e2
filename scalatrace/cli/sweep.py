"""Replay a trace over a grid of what-if factors and draw how long that takes. Starts the ranks itself."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scalatrace
from scalatrace.cli.launching import add_launcher, launch_words, scalatrace_words, split_words
from scalatrace.cli.output import add_formats, add_plot, add_trace, factor, print_facts
from scalatrace.cli.progress import track
from scalatrace.errors import UsageError
from scalatrace.escapes import write_csv
from scalatrace.files import check_output, write_file
from scalatrace.report.columns import SETTINGS

if TYPE_CHECKING:
    from scalatrace.replay.sweep import SweepResult, SweepSetting

EXAMPLE = (
    "scalatrace replay --sweep lu.st --compute-scale 0 1 --bytes-scale 1 8 -o sweep.csv --plot sweep.svg\n"
    "  scalatrace replay --sweep ft.st --collectives native p2p --repeat 5 --launcher 'srun -n 64'\n"
    "  scalatrace replay --sweep app.st --replay='--compute sleep --at solver.py compute=0.1'"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    scales: dict[str, Any] = {"type": factor, "nargs": "+", "metavar": "F"}
    parser.add_argument(
        "--compute-scale", default=[0, 0.25, 0.5, 0.75, 1], help="default: 0 0.25 0.5 0.75 1", **scales
    )
    parser.add_argument("--bytes-scale", default=[1], help="default: 1", **scales)
    parser.add_argument("--collectives", choices=("native", "p2p"), nargs="+", default=["native"])
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="replays of each setting")
    parser.add_argument("--replay", default="", metavar="OPTIONS", help="more options, for each replay")
    parser.add_argument("-o", "--output", type=Path, metavar="CSV", help="a line per setting")
    add_plot(parser)
    add_launcher(parser)
    add_formats(parser, SETTINGS)


def run(args: argparse.Namespace) -> int:
    """Replay every setting, then report."""
    from scalatrace.replay.sweep import grid
    from scalatrace.report.curves import SweepReporter, check_plot

    if args.repeat < 1:
        raise UsageError("--repeat is 1 or more")
    for option, path in (("-o", args.output), ("--plot", args.plot)):
        if path:
            check_output(path, option)
    if args.plot:
        check_plot(args.plot)
    trace = scalatrace.load(args.trace)
    settings = grid(args.compute_scale, args.bytes_scale, args.collectives)
    launch = launch_words(args.launcher, trace.nprocs)
    results = _replay_settings(
        [*launch, *scalatrace_words("replay", args.trace), *split_words(args.replay)], settings, args.repeat
    )
    rows = [result.row() for result in results]
    reporter = SweepReporter(rows, f"{Path(args.trace).name} on {trace.nprocs} ranks")
    if args.output:
        file = io.StringIO()
        write_csv(file, SETTINGS.csv(rows))
        write_file(args.output, file.getvalue().encode())
    if args.plot:
        reporter.draw(args.plot)
    print_facts(args, rows, SETTINGS, rows, reporter)
    return 0


def _replay_settings(command: list[str], settings: list[SweepSetting], repeat: int) -> list[SweepResult]:
    """Replay all settings in turn, again and again: what else runs on the machine hits all alike."""
    from scalatrace.replay.sweep import SweepResult, measure_replay

    turns = [setting for _ in range(repeat) for setting in settings]
    seconds: dict[SweepSetting, list[float]] = {setting: [] for setting in settings}
    for setting in track(turns, "replaying"):
        seconds[setting].append(measure_replay(command, setting))
    return [SweepResult(setting, tuple(times)) for setting, times in seconds.items()]
