"""Predicted computation of the slowest rank against runs on more ranks (Dominguez-Trujillo 2021, §3.4.3).

FTQ, asleep, so that ranks may share cores. The times of the fewest ranks are the input; the rows compare the
medians and intervals of `scalatrace variability` with the sum of the slowest rank's times on more ranks. Of
several runs, the one with the median sum counts. FTQ, drawn, has the same times without a machine: means of
many trials show what is due to the methods.

variability-programs: FWQ, DGEMM, SPMV, HPCG and LAMMPS on two ranks, each with a core, predicted from one
rank with as much work per rank. While that one is recorded, a second run of one rank keeps the other core as
busy as later. Times are sums over as many intervals as the run on one rank has.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.predict.predictions import CORES_ENVIRONMENT
from benchmarks.study import Study, find_mpi, one_table
from benchmarks.table import NO_VALUE, Row, compared, errors_in, verdict
from scalatrace import load
from scalatrace.arrays import Floats
from scalatrace.predict.variability import read_times
from scalatrace.predict.variability.projection import RankProjection, project_table, project_trace
from scalatrace.stats.interval_width import LEVEL
from support.applications import INPUTS
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun, record, run

COLUMNS = (
    "workload",
    "from ranks",
    "ranks",
    "method",
    "measured, s",
    "predicted, s",
    "error",
    "95 % of, s",
    "inside",
)
METHODS = ("pooled", "resampled", "inter-node", "intra-node")
RANKS_PER_NODE = 4
"""Ranks that count as a node for the last two methods."""

MEAN_US, DEVIATION = 50_000, 0.1
MAX_ERROR = 0.1
"""Of predicted medians."""
UNBOUND = dict.fromkeys(
    ("OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"), "none"
)
"""Two runs at once must not be bound to the same core."""

ASLEEP, DRAWN = "ftq, asleep", "ftq, drawn"
MIN_INSIDE = 0.8
"""Part of the drawn trials inside the interval, with each method."""


def _times(mpi: Mpi, nranks: int, steps: int, repeat: int, folder: Path) -> Path:
    """Run FTQ; return the file of each rank's seconds per interval, of the run with the median sum."""
    files = [_run_times(mpi, nranks, steps, folder / f"{nranks}.{i}.csv") for i in range(repeat)]
    return sorted(files, key=lambda file: _slowest_s(read_times(file)))[repeat // 2]


def _slowest_s(times: Floats) -> float:
    """Return the sum of the slowest rank's times."""
    return float(times.max(axis=1).sum())


def _run_times(mpi: Mpi, nranks: int, steps: int, file: Path) -> Path:
    sizes = ["--mean-us", str(MEAN_US), "--steps", str(steps)]
    words = [str(mpi.python), str(SAMPLES / "variability.py"), "ftq", "--sleep", *sizes, "--times", str(file)]
    mpirun(mpi, nranks, words, timeout=300).check()
    return file


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi, [first, *more] = find_mpi(), args.ranks
    with tempfile.TemporaryDirectory() as name:
        measured = {n: _times(mpi, n, args.steps, args.repeat, Path(name)) for n in args.ranks}
        command: list[Argument] = [*mpi.scalatrace(), "variability", "--times", measured[first], "--json"]
        command += ["--ranks-per-node", str(RANKS_PER_NODE), "-P", *map(str, more)]
        predictions = json.loads(run(command, timeout=300).check().stdout)["predictions"]
        totals = {n: _slowest_s(read_times(file)) for n, file in measured.items()}
        yield ASLEEP, str(first), str(first), "-", f"{totals[first]:.3f}", *[NO_VALUE] * 4
        for prediction in predictions:
            nranks = prediction["nranks"]
            yield ASLEEP, str(first), str(nranks), *_cells(prediction, totals[nranks])
    yield from _drawn_rows(args)


def _interval_s(prediction: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the median of a prediction, and the ends of its interval."""
    return prediction["median_ns"] / 1e9, prediction["low_ns"] / 1e9, prediction["high_ns"] / 1e9


def _cells(prediction: Mapping[str, Any], seconds: float) -> Row:
    """Return the cells of a prediction from its method on, against measured seconds."""
    median, low, high = _interval_s(prediction)
    inside = "yes" if low <= seconds <= high else "no"
    errors = compared(median, seconds)
    return prediction["method"], f"{seconds:.3f}", *errors, f"{low:.3f} to {high:.3f}", inside


def _draw(random: np.random.Generator, nranks: int, steps: int) -> Floats:
    """Draw the seconds of FTQ, [intervals, ranks]."""
    times: Floats = MEAN_US * 1e-6 * np.maximum(0.0, random.normal(1, DEVIATION, (steps, nranks)))
    return times


def _drawn_rows(args: argparse.Namespace) -> Iterator[Row]:
    """Draw the times of all runs many times; a row per method with means, and the part that is inside."""
    first, *more = args.ranks
    cells: dict[tuple[int, str], list[tuple[float, float, bool]]] = {}
    for seed in range(args.trials):
        random = np.random.default_rng(seed)
        options = RankProjection(tuple(more), seed=seed)
        times_ns = 1e9 * _draw(random, first, args.steps)
        for prediction in project_table(times_ns, DRAWN, options, RANKS_PER_NODE)["predictions"]:
            seconds = _slowest_s(_draw(random, prediction["nranks"], args.steps))
            median, low, high = _interval_s(prediction)
            key = prediction["nranks"], prediction["method"]
            cells.setdefault(key, []).append((seconds, median, low <= seconds <= high))
    for (nranks, method), trials in cells.items():
        seconds, median, _ = np.mean(trials, axis=0)
        inside = sum(is_inside for _, _, is_inside in trials)
        yield (
            DRAWN, str(first), str(nranks), method, f"{seconds:.3f}", *compared(median, seconds),
            NO_VALUE, f"{inside} of {len(trials)}",
        )  # fmt: skip


def _judge(rows: Sequence[Row]) -> list[str]:
    measured = [row for row in rows if row[0] == ASLEEP]
    drawn = [row for row in rows if row[0] == DRAWN]
    inside = [row[-1] == "yes" for row in measured if row[-1] != NO_VALUE]
    worst, worst_drawn = max(errors_in(measured, 6)), max(errors_in(drawn, 6))
    shares: dict[str, list[float]] = {}
    for row in drawn:
        trials_inside, trials = map(int, row[-1].split(" of "))
        shares.setdefault(row[3], []).append(trials_inside / trials)
    return [
        f"{sum(inside)} of {len(inside)} inside",
        verdict(worst <= MAX_ERROR, f"medians within {MAX_ERROR:.0%} (worst {worst:.1%})"),
        verdict(worst_drawn <= MAX_ERROR, f"drawn: medians within {MAX_ERROR:.0%} (worst {worst_drawn:.1%})"),
        *(
            verdict(
                min(parts) >= MIN_INSIDE,
                f"drawn: at least {MIN_INSIDE:.0%} inside with {method} ({min(parts):.0%} to {max(parts):.0%}"
                f"{', more than the level' if min(parts) > LEVEL else ''})",
            )
            for method, parts in shares.items()
        ),
    ]


Command = Callable[[str, int, Path], list[str]]
"""Makes the command line of a program on some ranks, in a folder for its input."""


def _hpcg(program: str, nranks: int, folder: Path) -> list[str]:
    return [program, *(f"--n{axis}=16" for axis in "xyz"), "--rt=3"]


def _lammps(program: str, nranks: int, folder: Path) -> list[str]:
    """Write the input of a melt with as many atoms per rank."""
    text = (INPUTS / "melt.in").read_text().replace("@SIZE@", "2000")
    (folder / "melt.in").write_text(text.replace("block 0 6", f"block 0 {6 * nranks}"))
    return [program, "-in", "melt.in", "-log", "none"]


SAMPLED = {
    "fwq": ("--mean-us", "20000"),
    "dgemm": ("--size", "512", "--multiplications", "4"),
    "spmv": ("--size", "256", "--multiplications", "16"),
}
"""Workloads of samples/variability.py, with their sizes: intervals of about 20 ms."""


def _sampled(workload: str, words: Sequence[str], program: str, nranks: int, folder: Path) -> list[str]:
    sizes = (*SAMPLED[workload], "--steps", "100")
    return [program, str(SAMPLES / "variability.py"), workload, *sizes, *words]


def _program_rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi = find_mpi()
    for workload, words in product(SAMPLED, ((), ("--halo",))):
        command = partial(_sampled, workload, words)
        yield from _rows_of(" ".join([workload, *words]), str(mpi.python), command, mpi, args.repeat)
    yield from _rows_of("hpcg", args.hpcg or "xhpcg", _hpcg, mpi, args.repeat)
    yield from _rows_of("lammps", "lmp", _lammps, find_mpi("debian-openmpi", python=False), args.repeat)


def _rows_of(name: str, program: str, command: Command, mpi: Mpi, repeat: int) -> Iterator[Row]:
    """Predict the slowest of two ranks from a trace of one, by the runs with the median of several."""
    found = shutil.which(program)
    if found is None:
        yield name, *[NO_VALUE] * 7, f"not run: no {program}"
        return
    runs_on_one, runs_on_two = list[dict[str, Any]](), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        run_on_one = partial(_projected, mpi, 1, command, found)
        for _ in range(repeat):
            with ThreadPoolExecutor() as pool:
                runs_on_one += pool.map(run_on_one, map(Path, (first, second)))
            runs_on_two.append(_projected(mpi, 2, command, found, Path(first)))
    one, two = (sorted(runs, key=_interval_ns)[len(runs) // 2] for runs in (runs_on_one, runs_on_two))
    seconds = _interval_ns(two) * one["total_ns"] / _interval_ns(one) / 1e9
    for prediction in one["predictions"]:
        yield name, "1", "2", *_cells(prediction, seconds)


def _projected(mpi: Mpi, nranks: int, command: Command, program: str, folder: Path) -> dict[str, Any]:
    """Record a run; return its intervals, and their predictions for two ranks."""
    words, trace = command(program, nranks, folder), folder / "a.st"
    record(mpi, nranks, words, trace, env=CORES_ENVIRONMENT | UNBOUND, timeout=300).check()
    data = project_trace(load(trace), RankProjection((2,)))
    assert data is not None, f"{program} has no intervals"
    return data


def _interval_ns(data: dict[str, Any]) -> float:
    """Return the mean time of an interval."""
    total_ns: float = data["total_ns"] / sum(row["count"] for row in data["intervals"])
    return total_ns


STUDIES = (
    Study(
        "variability-programs",
        "FWQ, DGEMM, SPMV, HPCG and LAMMPS on two ranks, predicted from one rank",
        "docs/evaluation.md",
        one_table(
            "variability_programs",
            "Programs on two ranks: slowest rank, predicted and measured",
            COLUMNS,
            _program_rows,
            notes=("", "Computation between synchronising calls; real, each rank has a core."),
        ),
        {"hpcg": None, "repeat": 3},
        {"repeat": 1},
    ),
    Study(
        "variability",
        "computation of the slowest rank predicted from few ranks, against runs on more",
        "docs/evaluation.md",
        one_table("variability", "Slowest ranks, predicted and measured", COLUMNS, _rows, judge=_judge),
        {"ranks": [8, 16, 32], "steps": 60, "repeat": 3, "trials": 100},
        {"ranks": [4, 8], "steps": 10, "repeat": 1, "trials": 20},
    ),
)
