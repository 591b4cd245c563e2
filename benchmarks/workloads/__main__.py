"""Traces of the workloads over ranks and time steps: sizes, parts of the trace, lossless or not.

python -m benchmarks.workloads [--only cg mg] [--ranks 4 16 36 64] [--steps 10 100 1000] [--keep]
python -m benchmarks.workloads --options    effect of each step of the compression (Figure 5.7)
python -m benchmarks.workloads --cost       ns per event, of rank 0 of 4
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.result_table import ResultTable
from benchmarks.workloads import cost, options, sizes
from benchmarks.workloads.claims import claims, verdicts
from support.mpis import Mpi, installed
from support.workloads import WORKLOADS, Workload

Job = tuple[str, Callable[[], list[str]]]
"""What to say while it runs; what makes the line."""


def size_jobs(mpi: Mpi, args: argparse.Namespace, chosen: Sequence[Workload]) -> Iterator[Job]:
    """One per program, ranks and steps; after a run that took too long, more steps are not tried."""
    for nprocs in args.ranks:
        for workload in chosen:
            late: list[int] = []
            for steps in sorted(args.steps) if workload.accepts(nprocs) else [0]:
                yield (
                    f"{workload.title}, {nprocs} ranks, {steps} steps",
                    partial(attempt, mpi, workload, nprocs, steps, args.limit, late),
                )


def attempt(
    mpi: Mpi, workload: Workload, nprocs: int, steps: int, limit_s: float, late: list[int]
) -> list[str]:
    """A line in any case; `late` collects the numbers of steps that took too long."""
    if not workload.accepts(nprocs):
        return sizes.refused(workload, nprocs)
    if late:
        return sizes.failed(workload, nprocs, steps, "time limit")
    try:
        return sizes.size_line(mpi, workload, nprocs, steps, limit_s)
    except TimeoutError:
        late.append(steps)
        return sizes.failed(workload, nprocs, steps, "time limit")
    except AssertionError as error:  # the other lines of the table are worth having
        print(f"{workload.title}, {nprocs} ranks, {steps} steps: {error}", file=sys.stderr)
        return sizes.failed(workload, nprocs, steps, "failed")


def option_jobs(mpi: Mpi, args: argparse.Namespace, chosen: Sequence[Workload]) -> Iterator[Job]:
    """One per program and number of steps."""
    for workload in chosen:
        for steps in options.STEPS:
            yield (
                f"{workload.title}, {options.NPROCS} ranks, {steps} steps, all options",
                partial(options.option_line, mpi, workload, options.NPROCS, steps, args.limit),
            )


def work(table: ResultTable, jobs: Sequence[Job]) -> None:
    """Make all lines."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(jobs))
        for text, make in jobs:
            progress.update(task, description=text)
            table.add(make())
            progress.advance(task)
    table.show()


def parse() -> argparse.Namespace:
    """Read the command line."""
    titles = [workload.title for workload in WORKLOADS]
    parser = argparse.ArgumentParser(description=sizes.TITLE)
    parser.add_argument("--only", nargs="+", choices=titles, default=titles, metavar="PROGRAM")
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 8, 16, 36, 64])
    parser.add_argument("--steps", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument(
        "--limit", type=float, default=120, help="seconds for a run, and for each check of it"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--options", action="store_true", help="sizes with each step of the compression")
    which.add_argument("--cost", action="store_true", help="ns per event")
    parser.add_argument("--keep", action="store_true", help="merge the lines into benchmarks/results/")
    return parser.parse_args()


def main() -> int:
    args = parse()
    mpi = installed().get("openmpi") or installed().get("mpich")
    if mpi is None:
        print("skipped: no MPI with mpi4py here")
        return 0
    chosen = [workload for workload in WORKLOADS if workload.title in args.only]
    if args.options:
        table = ResultTable("workloads_options", options.TITLE, options.COLUMNS, 3, args.keep, options.NOTES)
        work(table, list(option_jobs(mpi, args, chosen)))
        return 0
    if args.cost:
        cost.measure(mpi, chosen, args.keep).show()
        return 0
    table = ResultTable("workloads", sizes.TITLE, sizes.COLUMNS, 3, args.keep, sizes.NOTES, claims)
    work(table, list(size_jobs(mpi, args, chosen)))
    return 0 if all(holds for _, holds, numbers in verdicts(table.lines) if numbers) else 1


if __name__ == "__main__":
    sys.exit(main())
