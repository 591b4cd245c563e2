"""Extrapolate recorded programs.

extrapolate: compare with the recorded run of that size, event by event, at sizes that run here.
extrapolate-cost: time and memory of the whole command, for 100 to 1,048,576 ranks.
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
from pathlib import Path
from typing import NamedTuple

from benchmarks.extrapolate.cases import CASES, ExtrapolatedProgram, folder_of_traces, record_program
from benchmarks.study import Study, choose, find_mpi, one_table
from benchmarks.table import Row, grouped
from scalatrace import load
from scalatrace.extrap import extrapolate
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.grid.plugins import load_plugins
from scalatrace.trace.query.diff import diff
from support.programs import SAMPLES

COLUMNS = ("program", "inputs", "target", "events", "differing ranks", "nodes", "of the run", "note")
COSTS = ("program", "ranks", "s", "CPU, s", "MB", "largest input", "result, bytes", "walk a rank, s", "note")


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    """A row per case."""
    mpi = find_mpi()
    with folder_of_traces(args.traces) as folder:
        for case in choose(CASES, args.only, lambda case: case.title):
            head = [case.title, ", ".join(map(str, case.inputs)), str(case.target)]
            load_plugins([SAMPLES / case.plugin] if case.plugin else [])
            try:
                paths = [record_program(mpi, case, n, folder) for n in (*case.inputs, case.target)]
                *inputs, real = map(load, paths)
            except (AssertionError, TimeoutError) as error:
                yield [*head, "-", "-", "-", "-", f"not recorded: {str(error).splitlines()[0]}"]
                continue
            params = {"n": int(real.meta["param.n"])} if case.n else None
            head.append(grouped(real.nevents()))
            try:
                result = extrapolate(inputs, case.target, params=params).trace
            except (ExtrapolationError, InputError) as error:
                yield [*head, "all", "-", str(real.nnodes), _shorten(str(error))]
                continue
            ndiffering = len(diff(result, real, ["times"]))
            yield [*head, *map(str, (ndiffering, result.nnodes, real.nnodes)), ""]


def _cost_rows(args: argparse.Namespace) -> Iterator[Row]:
    """A row per case and size: what the command takes, and walking a rank of its result."""
    mpi = find_mpi()
    with folder_of_traces(args.traces) as folder:
        for case in choose(CASES, args.only, lambda case: case.title):
            paths = [record_program(mpi, case, nprocs, folder) for nprocs in case.inputs]
            largest = grouped(max(path.stat().st_size for path in paths))
            for nprocs in (side * side for side in args.sides):
                head, path = [case.title, grouped(nprocs)], folder / "big.st"
                done = _extrapolate(case, paths, nprocs, path)
                if done.status == 2:
                    continue  # not a size that the program runs on
                if done.status:
                    yield [*head, "-", "-", "-", largest, "-", "-", _shorten(done.error)]
                    continue
                began = time.process_time()
                deque(load(path).walk(nprocs * 777_777 // 1_048_576), maxlen=0)
                walk = f"{time.process_time() - began:.2f}"
                spent = [f"{done.elapsed_s:.2f}", f"{done.cpu_s:.2f}", f"{done.peak_mb:.0f}"]
                yield [*head, *spent, largest, grouped(path.stat().st_size), walk, ""]


def _shorten(error: str) -> str:
    """The reason of a refusal, in short."""
    return (error.splitlines() or [""])[0].replace(f"{SAMPLES}/", "").split(", ")[0]


class CommandCost(NamedTuple):
    """Exit status of a command, its time, CPU time and peak memory, the first line of its errors."""

    status: int
    elapsed_s: float
    cpu_s: float
    peak_mb: float
    error: str


def _extrapolate(case: ExtrapolatedProgram, inputs: Sequence[Path], nprocs: int, path: Path) -> CommandCost:
    """`scalatrace extrapolate` in a process of its own."""
    argv = [sys.executable, "-m", "scalatrace", "extrapolate", *map(str, inputs)]
    argv += ["-P", str(nprocs), "-o", str(path), *case.noted(nprocs)]
    argv += ["--plugin", str(SAMPLES / case.plugin)] if case.plugin else []
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        elapsed_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        first = errors.readline().strip()
    cpu_s, peak_mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return CommandCost(process.returncode, elapsed_s, cpu_s, peak_mb, first)


STUDIES = (
    Study(
        "extrapolate",
        "extrapolated traces against recorded ones, event by event",
        "Makefile (bench-all)",
        one_table("extrapolate", "Extrapolated traces against recorded ones", COLUMNS, _rows),
        {"only": [], "traces": Path},
        {"only": ["ring"]},
    ),
    Study(
        "extrapolate-cost",
        "time, memory and size of extrapolations to 100..1,048,576 ranks",
        "CHANGELOG.md (3 to 6 KB on 1,048,576 ranks)",
        one_table("extrapolate_cost", "What extrapolation costs", COSTS, _cost_rows),
        {"only": [], "traces": Path, "sides": [10, 32, 100, 320, 1024]},
        {"only": ["ring"], "sides": [10]},
    ),
)
