"""Piecewise regression: breakpoints found in generated data, and the time beside pycewise.

python -m benchmarks.regression [--trials 200] [--points 200] [--pycewise PYTHON] [--keep]

The data is that of Cornebize, Figure 5.7: sizes are log-uniform, the time is piecewise linear with 0 to 4
breakpoints at which it jumps by 20 to 100 % and its slope changes. Each piece has at least 12 points. The
noise is none, constant (5 % of the shortest time) or proportional (2 % of the time). A trial counts if all
breakpoints are found within one point, and no other.

PYTHON is an interpreter with pycewise (`python -m venv x; x/bin/pip install pycewise`). Its trials are the
first ones of ours. Times are CPU time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from benchmarks import table
from scalatrace.stats.grouped_points import Floats
from scalatrace.stats.piecewise import Objective, fit_piecewise

NOISES = ("none", "constant", "proportional")
MAX_BREAKPOINTS = 4
MIN_PIECE = 12
COLUMNS = (
    "noise",
    "objective",
    "trials",
    "breakpoints found",
    "CPU s",
    "pycewise found",
    "pycewise CPU s",
    "ratio",
)
WANTED, WANTED_RATIO = 0.95, 10

PYCEWISE = """
import json, sys, time
import pycewise
for x, y, mode in json.load(sys.stdin):
    begin = time.process_time()
    try:
        found = pycewise.compute_regression(x, y, mode=mode).breakpoints
    except Exception:
        print(json.dumps([[-1], None]), flush=True)  # counts as wrong
    else:
        print(json.dumps([found, time.process_time() - begin]), flush=True)
"""
MODES = {Objective.ORDINARY: "BIC", Objective.WEIGHTED: "weighted", Objective.LOGARITHMIC: "log"}


@dataclass(frozen=True)
class Trial:
    """Generated data. `breaks`: indices of the first point of each piece but the first."""

    x: Floats
    y: Floats
    breaks: tuple[int, ...]

    def found(self, breakpoints: list[float]) -> bool:
        """Whether breakpoints, as x, are those of the data within one point."""
        places = np.searchsorted(self.x, breakpoints)
        return len(places) == len(self.breaks) and bool(np.all(np.abs(places - np.array(self.breaks)) <= 1))


def generate(random: np.random.Generator, npoints: int, nbreaks: int, noise: str) -> Trial:
    """Generate a trial; x in bytes, y in seconds."""
    x = np.sort(10 ** random.uniform(2, 8, npoints))
    while True:
        breaks = np.sort(random.integers(0, npoints, nbreaks))
        if np.all(np.diff([0, *breaks, npoints]) >= MIN_PIECE):
            break
    bounds = [0, *(int(b) for b in breaks), npoints]
    slope, intercept = random.uniform(0.5, 2) * 1e-10, random.uniform(0.5, 2) * 1e-7
    y = np.empty(npoints)
    for i, (start, end) in enumerate(pairwise(bounds)):
        if i:
            level = (slope * x[start] + intercept) * random.uniform(1.2, 2)
            slope = min(slope * 10 ** random.uniform(-0.5, 0.5), 0.9 * level / x[start])
            intercept = level - slope * x[start]
        y[start:end] = slope * x[start:end] + intercept
    if noise == "constant":
        y = y + random.normal(0, 0.05 * y.min(), npoints)
    elif noise == "proportional":
        y = y * (1 + random.normal(0, 0.02, npoints))
    return Trial(x, y, tuple(bounds[1:-1]))


def pycewise_results(python: str, trials: list[Trial], mode: str) -> list[tuple[list[float], float | None]]:
    """Breakpoints and CPU seconds of pycewise."""
    given = json.dumps([[t.x.tolist(), t.y.tolist(), mode] for t in trials])
    run = subprocess.run([python, "-c", PYCEWISE], input=given, capture_output=True, text=True, check=True)
    return [tuple(json.loads(line)) for line in run.stdout.splitlines()]


def lines(args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """The rows of the table."""
    for noise in NOISES:
        random = np.random.default_rng(args.seed)
        trials = [generate(random, args.points, i % (MAX_BREAKPOINTS + 1), noise) for i in range(args.trials)]
        for objective in Objective:
            yield _line(args, noise, objective, trials)


def _line(args: argparse.Namespace, noise: str, objective: Objective, trials: list[Trial]) -> tuple[str, ...]:
    found, seconds = 0, []
    for trial in trials:
        begin = time.process_time()
        result = fit_piecewise(trial.x, trial.y, objective)
        seconds.append(time.process_time() - begin)
        found += trial.found(list(result.breakpoints))
    cells = [noise, objective.value, str(len(trials)), f"{found / len(trials):.1%}", f"{median(seconds):.3f}"]
    if not args.pycewise:
        return (*cells, "-", "-", "-")
    some = trials[MAX_BREAKPOINTS : MAX_BREAKPOINTS + args.pycewise_trials]
    theirs = pycewise_results(args.pycewise, some, MODES[objective])
    good = sum(trial.found(breaks) for trial, (breaks, _) in zip(some, theirs, strict=True))
    cpu = [s for _, s in theirs if s is not None]
    if not cpu:
        return (*cells, "fails", "-", "-")
    return (*cells, f"{good} of {len(some)}", f"{median(cpu):.2f}", f"{median(cpu) / median(seconds):.0f}")


def verdicts(rows: list[tuple[str, ...]]) -> list[str]:
    """State whether what must hold does."""
    result = []
    logarithmic = [row for row in rows if row[1] == Objective.LOGARITHMIC.value]
    least = min(float(row[3].rstrip("%")) / 100 for row in logarithmic)
    holds = "yes" if least >= WANTED else "NO"
    result.append(
        f"{holds}: logarithmic objective, breakpoints within one point in {least:.1%} of the trials or more"
    )
    ratios = [float(row[7]) for row in logarithmic if row[7] != "-"]
    if ratios:
        holds = "yes" if min(ratios) >= WANTED_RATIO else "NO"
        result.append(
            f"{holds}: logarithmic objective, {min(ratios):.0f} times faster than pycewise, or more"
        )
    return result


def main() -> int:
    """Measure, print, say whether what must hold does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pycewise", metavar="PYTHON", help="an interpreter with pycewise")
    parser.add_argument("--pycewise-trials", type=int, default=4)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/regression.md")
    args = parser.parse_args()
    title = f"Breakpoints of {args.points} generated points"
    rows = [tuple(row) for row in table.printed(lines(args))]
    table.show(title, COLUMNS, rows)
    found = verdicts(rows)
    print(*found, sep="\n")
    if args.keep:
        table.keep("regression", title, COLUMNS, rows, below=[f"- {line}" for line in found])
    return int(any(line.startswith("NO") for line in found))


if __name__ == "__main__":
    sys.exit(main())
