"""Predicted times against the runs that were recorded.

predictions: each workload of samples/ is recorded, and its trace simulated on the platform. Computations
sleep, unless `--real`. hpcc: Debian's hpcc by models of its BLAS calls, and with polls as work or as waiting
(Cornebize, part I). The models of dgemm and dtrsm are fitted to runs of other orders on as many ranks. The
times are those from MPI_Init to MPI_Finalize, under the tracer. Of several runs, the median one counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.running import Pacing, arguments, cases, compile_c, recorded
from benchmarks.study import Study, choose, find_debian_mpi, find_mpi
from benchmarks.table import ResultTable, Row, compared, errors_in, verdict
from scalatrace import Trace, load
from scalatrace.errors import ScalatraceError
from scalatrace.predict.engine import KernelTimes
from scalatrace.predict.engine.repeats import RepeatInterval, interval_of, repeats
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.kernels import fit_traces
from scalatrace.predict.platform import Platform, PlatformCheck, read_platform
from scalatrace.predict.platform.accuracy import accuracy_of
from scalatrace.report.costs.efficiency import efficiency
from support.applications import hpcc_input
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import record
from support.workloads import WORKLOADS, Workload

COLUMNS = (
    "program", "ranks", "computation", "run, s", "predicted, s", "error", "95 % of drawn runs, s", "inside",
    "95 % with checks, s", "inside it",
)  # fmt: skip
LIMITS = {"asleep": 0.05, "real": 0.10}
REPEATS = 20

HPCC = (
    "ranks", "order", "run, s", "by models, s", "error", "by recorded times, s", "error",
    "polls as waiting, s", "error",
)  # fmt: skip
HPCC_LIMIT, HPCC_RANKS = 0.10, 2
HPCC_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    # Copies by the kernel are not allowed in containers.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
CORES_ENVIRONMENT = {**HPCC_ENVIRONMENT, "OMPI_MCA_mpi_yield_when_idle": "0"}
"""Of ranks that have a core each, and need not give it to others while they wait."""


@dataclass(frozen=True)
class PredictedRun:
    """A run of a program, and the times of its simulations with drawn computation times, seconds.

    Attributes:
        note: why there are none.
    """

    program: str
    ranks: int
    run_s: float = 0.0
    times_s: tuple[float, ...] = ()
    note: str = ""

    @property
    def check(self) -> PlatformCheck:
        """The run as a check of the platform."""
        return PlatformCheck(self.ranks, self.run_s, statistics.median(self.times_s), self.program)


def _runs(args: argparse.Namespace, platform: Platform) -> Iterator[PredictedRun]:
    mpi, chosen = find_mpi(), choose(WORKLOADS, args.only, lambda workload: workload.title)
    for workload, nprocs, folder in cases(chosen, args.ranks):
        try:
            run = _run(mpi, platform, workload, nprocs, args.real, folder)
        except (AssertionError, TimeoutError, ScalatraceError) as error:
            run = PredictedRun(workload.title, nprocs, note=str(error).splitlines()[0][:60])
        print(run.program, run.ranks, run.note or f"{run.check.ratio:.3f} of the prediction", flush=True)
        yield run


def _run(
    mpi: Mpi, platform: Platform, workload: Workload, nprocs: int, real: bool, folder: Path
) -> PredictedRun:
    of_steps = workload.of_much_computation if real else workload.of_steps
    pace = (Pacing(0) if real else Pacing()).pace(mpi, of_steps, [nprocs], folder)
    recording = recorded(mpi, nprocs, arguments(of_steps(pace.steps), pace.sleep_us), folder / "a.st")
    times_ns = repeats(Simulator(load(recording.trace)), platform, SimulateOptions(), REPEATS)
    return PredictedRun(workload.title, nprocs, recording.run_s, tuple(time / 1e9 for time in times_ns))


def _rows(args: argparse.Namespace, platform: Platform) -> Iterator[Row]:
    """A row per run, with the interval by the checks of the other programs."""
    runs = list(_runs(args, platform))
    for run in runs:
        if run.note:
            yield [run.program, str(run.ranks), *"-------", run.note]
            continue
        checks = tuple(other.check for other in runs if not other.note and other.program != run.program)
        accuracy = accuracy_of(replace(platform, checks=checks), run.ranks)
        of_runs = interval_of(run.times_s)
        yield [
            *(run.program, str(run.ranks), "real" if args.real else "asleep", f"{run.run_s:.3f}"),
            *compared(of_runs.median_ns, run.run_s),
            *_inside(of_runs, run.run_s),
            *(_inside(interval_of(run.times_s, accuracy), run.run_s) if accuracy else ("-", "-")),
        ]


def _inside(interval: RepeatInterval, run_s: float) -> tuple[str, str]:
    low, high = interval.low_ns, interval.high_ns  # of times in seconds
    return f"{low:.3f} to {high:.3f}", "yes" if low <= run_s <= high else "no"


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    platform, kind = read_platform(args.platform), "real" if args.real else "asleep"

    def verdicts(rows: Sequence[Row]) -> list[str]:
        errors = errors_in(rows, 5) or [1.0]
        mean, inside = statistics.fmean(errors), sum(row[7] == "yes" for row in rows)
        with_checks = [row[9] for row in rows if row[9] in ("yes", "no")]
        text = f"mean absolute error {mean:.1%}, median {statistics.median(errors):.1%}"
        return [
            verdict(mean <= LIMITS[kind], f"{text} (limit {LIMITS[kind]:.0%})"),
            f"Of {len(errors)} runs, {inside} are inside the interval of drawn runs, and "
            f"{with_checks.count('yes')} of {len(with_checks)} inside that with checks: the runs of the "
            "other programs.",
        ]

    title = f"Predicted times of the workloads, computation {kind}"
    yield ResultTable(f"predictions_{kind}", title, COLUMNS, _rows(args, platform), judge=verdicts)


def _record_hpcc(mpi: Mpi, marks: Path, order: int, folder: Path) -> Trace:
    """Record hpcc with marked BLAS calls."""
    where = Path(tempfile.mkdtemp(dir=folder))
    hpcc_input(where, order, 1, HPCC_RANKS)
    env = {**HPCC_ENVIRONMENT, "LD_PRELOAD": str(marks)}
    record(mpi, HPCC_RANKS, ["hpcc"], where / "a.st", env=env, timeout=600).check()
    return load(where / "a.st")


def _run_s(trace: Trace) -> float:
    costs = efficiency(trace)
    assert costs is not None
    return costs.run_time_ns / 1e9


def _hpcc_rows(mpi: Mpi, platform: Platform, args: argparse.Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flags = ("-shared", "-fPIC", "-ldl")
        marks = compile_c(mpi, SAMPLES / "blas_kernels.c", folder / "marks.so", *flags)
        models = fit_traces(_record_hpcc(mpi, marks, order, folder) for order in args.fit)
        for order in args.orders:
            traces = [_record_hpcc(mpi, marks, order, folder) for _ in range(args.repeat)]
            trace = sorted(traces, key=_run_s)[args.repeat // 2]
            cells = [str(HPCC_RANKS), str(order), f"{_run_s(trace):.3f}"]
            for kernels, polls_work in ((KernelTimes(models), True), (None, True), (None, False)):
                simulator = Simulator(trace, kernels, polls_work)
                drawn = interval_of(list(repeats(simulator, platform, SimulateOptions(), REPEATS)))
                cells += compared(drawn.median_ns / 1e9, _run_s(trace))
            yield cells


def _hpcc_tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi, load_before = find_debian_mpi("hpcc"), os.getloadavg()[0]

    def verdicts(rows: Sequence[Row]) -> list[str]:
        means = {
            kind: statistics.fmean(errors_in(rows, column))
            for kind, column in {"by models": 4, "by recorded times": 6}.items()
        }
        text = ", ".join(f"{kind} {error:.1%}" for kind, error in means.items())
        load_after = os.getloadavg()[0]
        return [
            verdict(max(means.values()) <= HPCC_LIMIT, f"mean absolute error {text}"),
            f"Load of the machine before and after: {load_before:.1f}, {load_after:.1f}.",
        ]

    rows, title = (
        _hpcc_rows(mpi, read_platform(args.platform), args),
        "Debian's hpcc by models of its BLAS calls",
    )
    yield ResultTable("hpcc", title, HPCC, rows, judge=verdicts)


STUDIES = (
    Study(
        "predictions",
        "predicted times of the workloads against their runs",
        "CHANGELOG.md (mean error with real computation)",
        _tables,
        {"platform": None, "only": [], "ranks": [2, 4, 8, 16], "real": False},
        {"only": ["ep"], "ranks": [2]},
    ),
    Study(
        "hpcc",
        "Debian's hpcc on 2 ranks predicted by models of its BLAS calls, and with polls as work or waiting",
        "CHANGELOG.md (mean error with `--polls work`)",
        _hpcc_tables,
        {"platform": None, "fit": [1000, 2000, 3000], "orders": [1500, 2500], "repeat": 5},
        {"fit": [200, 400], "orders": [300], "repeat": 1},
    ),
)
