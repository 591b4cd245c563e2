"""Show that a replay is what was recorded: replay the trace, record that, compare the two traces (§3.4.1).

Starts the ranks itself. Call sites, times, names of files and ports, and addresses in dynamic windows may
differ, nothing else. Status 1 when something does.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import scalatrace
from scalatrace.cli.launching import add_launcher, launch_words, scalatrace_words
from scalatrace.cli.output import add_json, add_trace, print_json
from scalatrace.compilers.programs import run_tool
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output, write_file

if TYPE_CHECKING:
    from scalatrace import Trace

IGNORED = ("callsites", "times")
OF_ONE_RUN = ("filename", "port_name")
"""Parameters that a replay has values of its own for: its files, and the ports that it opens."""

ADDRESSES, OF_ADDRESSES = "target_disp", "Win_create_dynamic"
"""Displacements in windows that this operation makes are addresses, which each run has its own."""

EXAMPLE = (
    "scalatrace replay --fixpoint app.st\n"
    "  scalatrace replay --fixpoint app.st --keep again.st --launcher 'srun -n 16'"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument("--keep", type=Path, metavar="TRACE", help="where to leave the trace of the replay")
    parser.add_argument("--with-computation", action="store_true", help="wait out the computation too")
    add_launcher(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Replay under the tracer, then compare."""
    from scalatrace.replay.probabilistic.sampled_calls import is_probabilistic
    from scalatrace.trace.query.diff import diff

    if args.keep:
        check_output(args.keep, "--keep")
    trace = scalatrace.load(args.trace)
    if is_probabilistic(trace):
        raise UsageError("the trace has histograms for parameters: no two replays of it are the same")
    with tempfile.TemporaryDirectory(prefix="scalatrace-") as folder:
        again = Path(folder, "again.st")
        _replay(args, trace.nprocs, again)
        if args.keep:
            write_file(args.keep, again.read_bytes())
        differences = diff(trace, scalatrace.load(again), ignored_aspects(trace))
    if args.json:
        print_json({"nprocs": trace.nprocs, "events": trace.nevents(), "differences": len(differences)})
    elif differences:
        print(f"the replay is another program: {differences[0]}")
    else:
        print(f"fixed point: the replay has the {trace.nevents():,} events of {trace.nprocs} ranks, no other")
    return 1 if differences else 0


def ignored_aspects(trace: Trace) -> tuple[str, ...]:
    """Return what is of one run only, as `diff` takes it: call sites, times, and some parameters."""
    names = {name for op in trace.ops for name, _ in op.params}
    aspects = [*OF_ONE_RUN]
    if any(op.name == OF_ADDRESSES for op in trace.ops):
        aspects.append(ADDRESSES)
    return (*IGNORED, *(name for name in aspects if name in names))


def _replay(args: argparse.Namespace, nprocs: int, again: Path) -> None:
    compute = [] if args.with_computation else ["--compute", "none"]
    replay = scalatrace_words("replay", args.trace, *compute)
    launch = launch_words(args.launcher, nprocs)
    done = run_tool([*launch, *scalatrace_words("record", "-o", again, "--"), *replay])
    if done.returncode or not again.exists():
        raise ScalatraceError(f"the replay failed with status {done.returncode}:\n{done.stderr.strip()}")
