"""The regression test: false alarms without any change, and detection of a slowdown of one call site.

Each trial draws a history of 20 runs and the new runs after it. A run has the times of 12 call sites, whose
shares of the time fall from 22 to 2 %; noise varies each of them, and half of the sites together. The first
lines test one set of factors, the others are `scalatrace regress`: all its tests at once. A slowdown of less
than 5 standard deviations of the mean is measured, but not required.

regress-campaigns: a drawn history of calibrations, each with the time of a kernel on every core (Cornebize
2021, chapter 11). One core gets slower; new calibrations follow until `regress` reports it. regress-here: the
same with times of this machine. The slower core multiplies more often.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.running import ONE_THREAD, PROGRAMS, priority
from benchmarks.study import SkippedError, Study, one_table
from benchmarks.table import ResultTable, Row, verdict
from scalatrace.arrays import Floats
from scalatrace.predict.calibrate.monitor import HostMonitor
from scalatrace.predict.regress import Runs, judge
from scalatrace.stats.mean_test import mean_test

COLUMNS = ("test", "new runs", "noise, %", "slowdown, %", "trials", "alarms, %", "expected, %", "result")
HISTORY, NSITES = 20, 12
SHARES = np.linspace(2.2, 0.2, NSITES) / np.linspace(2.2, 0.2, NSITES).sum()
SLOW_SITE = 4
"""The site that gets slower; 13 % of the time."""

ALPHA = 0.05
DEVIATIONS = 2.6
"""Of the binomial distribution, within which a rate is as expected (99 %)."""

REQUIRED, MIN_DEVIATIONS = 0.95, 5
"""Part of trials in which to detect a slowdown of at least so many standard deviations of the mean."""


@dataclass(frozen=True)
class RegressionCase:
    """A line: `nfactors` of one F-test, or None for the command."""

    nfactors: int | None
    nnew: int
    noise: float
    slowdown: float = 0.0

    @property
    def is_large(self) -> bool:
        """Whether the slowdown stands out of the noise."""
        return self.slowdown * math.sqrt(self.nnew) >= MIN_DEVIATIONS * self.noise

    @property
    def name(self) -> str:
        return "regress" if self.nfactors is None else f"F-test, {self.nfactors} factors"


CASES = (
    *(RegressionCase(p, r, 0.01) for p in (1, 3, 6) for r in (1, 5)),
    *(RegressionCase(None, r, 0.01) for r in (1, 5)),
    *(RegressionCase(None, 1, noise, 0.03) for noise in (0.0025, 0.005, 0.01)),
    *(RegressionCase(None, 5, noise, 0.03) for noise in (0.005, 0.01, 0.02)),
)


def drawn(case: RegressionCase, seed: int) -> Runs:
    """Draw a history and new runs; the noise of half of the sites has a common part."""
    random = np.random.default_rng(seed)
    n = HISTORY + case.nnew
    noise = random.standard_normal((n, NSITES))
    noise[:, ::2] = 0.8 * noise[:, ::2] + 0.6 * random.standard_normal((n, 1))
    values = 1e9 * SHARES * (1 + case.noise * noise)
    values[HISTORY:, SLOW_SITE] *= 1 + case.slowdown
    return Runs(tuple(f"run {i}" for i in range(n)), tuple(f"site {i}" for i in range(NSITES)), values)


def alarms(case: RegressionCase, trials: int) -> int:
    """Return in how many trials a test reports a change, or the command a regression."""
    return sum(_alarm(case, drawn(case, seed)) for seed in range(trials))


def _alarm(case: RegressionCase, runs: Runs) -> bool:
    if case.nfactors is not None:
        values = runs.values[:, : case.nfactors]
        return mean_test(values[:HISTORY], values[HISTORY:]).is_anomaly(1 - ALPHA)
    verdict = judge(runs, case.nnew, 1 - ALPHA)
    if case.slowdown:
        return any(finding.factor == f"site {SLOW_SITE}" for finding in verdict.regressions)
    return any(finding.anomaly for finding in verdict.findings)


def _row(case: RegressionCase, trials: int) -> Row:
    """Return the row of a case, with its result."""
    rate = alarms(case, trials) / trials
    margin = DEVIATIONS * np.sqrt(ALPHA * (1 - ALPHA) / trials)
    if case.slowdown:
        expected, good = (f"at least {100 * REQUIRED:g}" if case.is_large else "-"), rate >= REQUIRED
    elif case.nfactors is None:
        expected, good = f"at most {100 * ALPHA:g}", rate <= ALPHA + margin
    else:
        low, high = 100 * (ALPHA - margin), 100 * (ALPHA + margin)
        expected, good = f"{low:.1f} .. {high:.1f}", abs(rate - ALPHA) <= margin
    numbers = (f"{100 * case.noise:g}", f"{100 * case.slowdown:g}", str(trials), f"{100 * rate:.1f}")
    result = "-" if expected == "-" else "yes" if good else "NO"
    return [case.name, str(case.nnew), *numbers, expected, result]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    return [verdict(all(row[-1] != "NO" for row in rows), "all rates are as expected")]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    rows = (_row(case, args.trials) for case in CASES)
    yield ResultTable("regress", "Performance regression test", COLUMNS, rows, judge=_verdicts)


CAMPAIGN_COLUMNS = (
    "cores", "history", "noise, %", "slowdown, %", "trials", "runs, median", "runs, 95 %", "not found, %",
    "other core named first, %",
)  # fmt: skip
CORES, MAX_NEW = 2, 15
"""Cores whose kernel is measured, and new calibrations until a trial is given up."""


def _campaigns(noise: float, slowdown: float, history: int, seed: int) -> tuple[int | None, bool]:
    """Draw calibrations; return as `_runs_until_found`."""
    random = np.random.default_rng(seed)
    values = 1e6 * (1 + noise * random.standard_normal((history + MAX_NEW, CORES)))
    values[history:, -1] *= 1 + slowdown
    return _runs_until_found(values, history)


def _runs_until_found(values: Floats, history: int) -> tuple[int | None, bool]:
    """Return how many new calibrations it took to report the last core, and whether another was first."""
    names = tuple(f"dgemm of core {core}" for core in range(CORES))
    for nnew in range(1, len(values) - history + 1):
        n = history + nnew
        runs = Runs(tuple(f"run {i}" for i in range(n)), names, values[:n])
        slower = {finding.factor for finding in judge(runs, nnew, 1 - ALPHA).regressions}
        if names[-1] in slower:
            return nnew, False
        if slower & set(names):
            return None, True
    return None, False


def _campaign_rows(args: argparse.Namespace) -> Iterator[Row]:
    for noise in (0.005, 0.01, 0.02):
        for slowdown in (0.03, 0.0):
            results = [_campaigns(noise, slowdown, args.history, seed) for seed in range(args.trials)]
            counts = [count for count, _ in results if count is not None]
            median, late = (f"{np.quantile(counts, q):.0f}" if counts else "-" for q in (0.5, 0.95))
            missed = sum(count is None for count, _ in results) / args.trials
            wrong = sum(other for _, other in results) / args.trials
            yield (
                str(CORES), str(args.history), f"{100 * noise:g}", f"{100 * slowdown:g}", str(args.trials),
                median, late, f"{100 * missed:.1f}", f"{100 * wrong:.1f}",
            )  # fmt: skip


HERE_COLUMNS = (
    "slower core by, %", "trials", "history", "found", "after runs, median", "most", "other core first",
    "time over history, %", "its noise, %",
)  # fmt: skip


class Multipliers:
    """Processes that multiply matrices at the same time, each on its core.

    Args:
        cores: numbers of the system.
    """

    def __init__(self, cores: Sequence[int], count: int) -> None:
        program = [sys.executable, str(PROGRAMS / "multiply.py")]
        self._count = count
        self._processes = [
            subprocess.Popen(
                [*program, str(core)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, **ONE_THREAD},
            )
            for core in cores
        ]  # fmt: skip
        self._monitor = HostMonitor([process.pid for process in self._processes])

    def measure(self, slowdown: float) -> list[float]:
        """Return ns of a multiplication on each core; the last one does more."""
        for core, process in enumerate(self._processes):
            extra = round(self._count * slowdown) if core == len(self._processes) - 1 else 0
            assert process.stdin is not None
            print(self._count, extra, file=process.stdin, flush=True)
        return [float(process.stdout.readline()) for process in self._processes if process.stdout]

    def measure_all(self, slowdowns: Sequence[float]) -> tuple[Floats, float]:
        """Return the times of runs with these slowdowns, [runs, cores], and the cores that others used."""
        self._monitor.read(time.monotonic(), 0.0)
        values = np.array([self.measure(slowdown) for slowdown in slowdowns])
        self._monitor.read(time.monotonic(), 0.0)
        return values, self._monitor.readings[-1].get("other_cores", float("nan"))

    def close(self) -> None:
        for process in self._processes:
            process.communicate()


def _here_tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    """Measure the runs of all trials in random order, so that drift of the machine is no slowdown."""
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    if len(cores) < CORES:
        raise SkippedError(f"needs {CORES} cores")
    kinds = [0.0] * args.history + [s / 100 for s in args.slowdowns for _ in range(MAX_NEW)]
    runs = np.tile(kinds, args.trials)
    order = np.random.default_rng(args.seed).permutation(len(runs))
    multipliers = Multipliers(cores, args.count)
    try:
        multipliers.measure(0.0)  # the first run starts slowly
        measured, others = multipliers.measure_all(runs[order].tolist())
    finally:
        multipliers.close()
    values = np.empty_like(measured)
    values[order] = measured
    notes = (
        "",
        "Measured. Noise: standard deviation of the runs. Confidence of 95 % in all tests.",
        f"{len(runs)} runs of all trials in random order; {priority()}. Others used {others:.2f} cores.",
    )
    title = "Runs until a slower core of this machine is found"
    rows = _here_rows(args, values.reshape(args.trials, len(kinds), CORES))
    yield ResultTable("regress_here", title, HERE_COLUMNS, rows, 0, notes)


def _here_rows(args: argparse.Namespace, trials: Floats) -> Iterator[Row]:
    """Yield a row for each slowdown. `trials`: [trials, runs, cores], the history of a trial first."""
    histories = trials[:, : args.history]
    for i, slowdown in enumerate(args.slowdowns):
        start = args.history + i * MAX_NEW
        new = trials[:, start : start + MAX_NEW]
        results = [
            _runs_until_found(np.vstack(runs), args.history) for runs in zip(histories, new, strict=True)
        ]
        counts = [count for count, _ in results if count is not None]
        median, most = (f"{np.quantile(counts, q):.0f}" if counts else "-" for q in (0.5, 1.0))
        slow, usual = new[:, :, -1], histories[:, :, -1]
        yield (
            str(slowdown), str(args.trials), str(args.history), str(len(counts)), median, most,
            str(sum(other for _, other in results)), f"{100 * (slow.mean() / usual.mean() - 1):+.1f}",
            f"{100 * slow.std(ddof=1) / slow.mean():.1f}",
        )  # fmt: skip


STUDIES = (
    Study(
        "regress-here",
        "runs on this machine until `regress` reports a core that multiplies more often",
        "docs/evaluation.md",
        _here_tables,
        {"history": 30, "slowdowns": [0, 3, 6, 12, 25], "trials": 5, "seed": 1, "count": 200},
        {"history": 8, "slowdowns": [0, 25], "trials": 2, "count": 20},
    ),
    Study(
        "regress",
        "the test of `scalatrace regress`: false alarms, and detection of a slower call site",
        "docs/guide/regress.md",
        _tables,
        {"trials": 200},
        {"trials": 10},
    ),
    Study(
        "regress-campaigns",
        "calibrations until `regress` reports a core that got 3 % slower",
        "docs/evaluation.md",
        one_table(
            "regress_campaigns",
            "Calibrations until a slower core is found",
            CAMPAIGN_COLUMNS,
            _campaign_rows,
            0,
            ("", "Drawn, not measured. Rows without a slowdown show false alarms."),
        ),
        {"trials": 200, "history": 30},
        {"trials": 10},
    ),
)
