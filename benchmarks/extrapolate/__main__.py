"""Extrapolate recorded programs, and compare with the recorded run of that size, event by event.

python -m benchmarks.extrapolate [--only lu bt ...] [--keep]          exactness, at sizes that run here
python -m benchmarks.extrapolate --million [--only lu bt ...] [--keep]   cost of 100 to 1,048,576 ranks
python -m benchmarks.extrapolate --replayed [--only lu bt ...] [--keep]  replays against the program's run

With `--traces FOLDER`, recorded traces are stored there and reused.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.extrapolate import replayed
from benchmarks.extrapolate.cases import CASES, Case
from benchmarks.replay.runs import Pacing
from benchmarks.result_table import table_of
from benchmarks.table import grouped, keep, printed, show
from scalatrace import load
from scalatrace.extrap import extrapolate
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.grid.plugins import load_plugins
from scalatrace.trace.query.diff import diff
from support.mpis import Mpi, installed
from support.programs import SAMPLES
from support.running import record

COLUMNS = ("program", "inputs", "target", "events", "differing ranks", "nodes", "of the run", "note")
COSTS = ("program", "ranks", "s", "CPU, s", "MB", "largest input", "result, bytes", "walk a rank, s", "note")
SLEEP_US = 20_000
SIDES = (10, 32, 100, 320, 1024)
Chosen = TypeVar("Chosen", bound=Case)


def main() -> int:
    """Measure, show, keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the cases, by how they begin")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--million", action="store_true", help="sizes up to 1,048,576 ranks")
    which.add_argument("--replayed", action="store_true", help="calls and times of replays")
    parser.add_argument(
        "--sides",
        nargs="+",
        type=int,
        default=SIDES,
        metavar="X",
        help="with --million: square roots of ranks",
    )
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="of recorded traces")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/extrapolate*.md")
    args = parser.parse_args()
    mpi = installed()["openmpi"]
    if args.replayed:
        return _replayed(mpi, args)
    chosen = _chosen(CASES, args)
    with tempfile.TemporaryDirectory() as folder:
        make = partial(costs, sides=args.sides) if args.million else exactness
        title, columns, name = (
            ("What extrapolation costs", COSTS, "extrapolate_cost")
            if args.million
            else ("Extrapolated traces against recorded ones", COLUMNS, "extrapolate")
        )
        traces = args.traces or Path(folder)
        traces.mkdir(parents=True, exist_ok=True)
        rows = list(printed(make(mpi, chosen, traces)))
    show(title, columns, rows)
    if args.keep:
        keep(name, title, columns, rows)
    return 0


def _chosen(cases: Sequence[Chosen], args: argparse.Namespace) -> list[Chosen]:
    return [c for c in cases if not args.only or any(c.title.startswith(name) for name in args.only)]


def _replayed(mpi: Mpi, args: argparse.Namespace) -> int:
    title = "Replays of extrapolated traces against the program"
    table = table_of("extrapolate_replayed", title, replayed, 4, args.keep)
    cases = _chosen((*replayed.MICRO, *replayed.TIMED), args)
    return table.measure(replayed.lines(mpi, cases, Pacing(SLEEP_US)))


def recorded(mpi: Mpi, case: Case, nprocs: int, folder: Path) -> Path:
    """The recorded trace of a case on so many ranks. AssertionError when it cannot be recorded."""
    argv = [word.format(n=case.size(nprocs)) for word in case.arguments]
    options = [*case.options, *case.noted(nprocs)]
    words = [Path(case.source).stem, *argv, *options, str(nprocs)]
    path = folder / ("-".join(word.strip("-") for word in words) + ".st")
    if not path.exists():
        command = [str(mpi.python), str(SAMPLES / case.source), *argv]
        record(mpi, nprocs, command, path, options=options, timeout=300).check()
    return path


def exactness(mpi: Mpi, chosen: Sequence[Case], folder: Path) -> Iterator[list[str]]:
    """A row per case."""
    for case in chosen:
        head = [case.title, ", ".join(map(str, case.inputs)), str(case.target)]
        load_plugins([SAMPLES / case.plugin] if case.plugin else [])
        try:
            paths = [recorded(mpi, case, nprocs, folder) for nprocs in (*case.inputs, case.target)]
            *inputs, real = map(load, paths)
        except (AssertionError, TimeoutError) as error:
            yield [*head, "-", "-", "-", "-", f"not recorded: {str(error).splitlines()[0]}"]
            continue
        params = {"n": int(real.meta["param.n"])} if case.n else None
        try:
            made = extrapolate(inputs, case.target, params=params).trace
        except (ExtrapolationError, InputError) as error:
            yield [
                *head, grouped(real.nevents()), "all", "-", str(real.nnodes), first_line(str(error))
            ]  # fmt: skip
            continue
        differing = len(diff(made, real, ["times"]))
        yield [
            *head, grouped(real.nevents()), str(differing), str(made.nnodes), str(real.nnodes), ""
        ]  # fmt: skip


def costs(mpi: Mpi, chosen: Sequence[Case], folder: Path, sides: Sequence[int]) -> Iterator[list[str]]:
    """A row per case and size: what the command takes, all of it, and walking a rank of its result."""
    for case in chosen:
        paths = [recorded(mpi, case, nprocs, folder) for nprocs in case.inputs]
        largest = max(path.stat().st_size for path in paths)
        for side in sides:
            nprocs = side * side
            head = [case.title, grouped(nprocs)]
            made = folder / "big.st"
            done = command(case, paths, nprocs, made)
            if done.status == 2:
                continue  # not a size that the program runs on
            if done.status:
                yield [*head, "-", "-", "-", grouped(largest), "-", "-", first_line(done.error)]
                continue
            began = time.process_time()
            deque(load(made).walk(nprocs * 777_777 // 1_048_576), maxlen=0)
            walk_s = time.process_time() - began
            yield [
                *head,
                f"{done.elapsed_s:.2f}",
                f"{done.cpu_s:.2f}",
                f"{done.peak_mb:.0f}",
                grouped(largest),
                grouped(made.stat().st_size),
                f"{walk_s:.2f}",
                "",
            ]


def first_line(error: str) -> str:
    """What a program was refused for, in short."""
    return (error.splitlines() or [""])[0].replace(f"{SAMPLES}/", "").split(", ")[0]


class Done(NamedTuple):
    """How a command ended, its time, CPU time and peak memory, the first line it complained with."""

    status: int
    elapsed_s: float
    cpu_s: float
    peak_mb: float
    error: str


def command(case: Case, inputs: Sequence[Path], nprocs: int, made: Path) -> Done:
    """`scalatrace extrapolate` in a process of its own."""
    argv = [sys.executable, "-m", "scalatrace", "extrapolate", *map(str, inputs)]
    argv += ["-P", str(nprocs), "-o", str(made), *case.noted(nprocs)]
    argv += ["--plugin", str(SAMPLES / case.plugin)] if case.plugin else []
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        elapsed_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        first = errors.readline().strip()
    return Done(process.returncode, elapsed_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, first)


if __name__ == "__main__":
    sys.exit(main())
