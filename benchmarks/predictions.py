"""Predicted times against the runs that were recorded.

python -m benchmarks.predictions platform.toml [--real] [--ranks 2 4] [--only cg ...] [--keep]
python -m benchmarks.predictions platform.toml --extrapolated [--only lu ...] [--keep]

Each workload of samples/ is recorded, and its trace simulated on the platform. `scalatrace calibrate`
measures the platform of this machine. Computations sleep, unless `--real`. With `--extrapolated`, traces on
few ranks are extrapolated, and what is simulated is their result, beside the trace of the real run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.extrapolate.cases import CASES, Case
from benchmarks.replay.runs import Recording, arguments, paced, recorded
from benchmarks.table import keep, printed, show
from scalatrace import load
from scalatrace.errors import ScalatraceError
from scalatrace.extrap import extrapolate
from scalatrace.predict.engine.repeats import Interval, interval_of, repeats
from scalatrace.predict.engine.simulate import Options, Simulator
from scalatrace.predict.platform import Check, Platform, read_platform
from scalatrace.predict.platform.accuracy import accuracy_of
from support.mpis import Mpi, installed
from support.programs import SAMPLES
from support.workloads import WORKLOADS, Workload

COLUMNS = (
    "program", "ranks", "computation", "run, s", "predicted, s", "error", "95 % of drawn runs, s", "inside",
    "95 % with checks, s", "inside it",
)  # fmt: skip
LIMITS = {"asleep": 0.05, "real": 0.10}
SLEEP_US = 20_000
"""Of a computation, at least: long enough that many ranks on few cores mostly sleep."""
REPEATS = 20

EXTRAPOLATED_COLUMNS = (
    "program", "ranks", "run, s", "extrapolated, s", "error", "recorded, s", "error of recorded", "note",
)  # fmt: skip
INPUT_RANKS, TARGET_RANKS = (4, 9, 16), (25, 36)
EXTRAPOLATED = {
    "bt": 400_000,
    "sp": 400_000,
    "lu": 200_000,
    "lu, weak": 200_000,
    "sweep3d": 20_000,
    "sweep3d, weak": 20_000,
}
"""Programs, and the time (us) of a computation: so long that 36 ranks on two cores mostly sleep."""
UNEQUAL_BLOCKS = 17
"""A size that neither 2 nor 3 nor 4 divides: equal blocks do not show which ranks have the larger ones."""


@dataclass(frozen=True)
class Run:
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
    def check(self) -> Check:
        """The run as a check of the platform."""
        return Check(self.ranks, self.run_s, statistics.median(self.times_s), self.program)


def _runs(
    mpi: Mpi, platform: Platform, chosen: Sequence[Workload], ranks: Sequence[int], real: bool
) -> Iterator[Run]:
    for workload, nprocs, folder in cases(chosen, ranks):
        try:
            one = _run(mpi, platform, workload, nprocs, real, folder)
        except (AssertionError, TimeoutError, ScalatraceError) as error:
            one = Run(workload.title, nprocs, note=str(error).splitlines()[0][:60])
        print(one.program, one.ranks, one.note or f"{one.check.ratio:.3f} of the prediction", flush=True)
        yield one


def _run(mpi: Mpi, platform: Platform, workload: Workload, nprocs: int, real: bool, folder: Path) -> Run:
    of_steps = workload.of_much_computation if real else workload.of_steps
    pace = paced(mpi, of_steps, nprocs, 0 if real else SLEEP_US, folder)
    made = recorded(mpi, nprocs, arguments(of_steps(pace.steps), pace.sleep_us), folder / "a.st", ())
    times_ns = repeats(Simulator(load(made.trace)), platform, Options(), REPEATS)
    return Run(workload.title, nprocs, made.run_s, tuple(time / 1e9 for time in times_ns))


def _row(platform: Platform, one: Run, others: Sequence[Run], kind: str) -> tuple[str, ...]:
    """A line of the table; the interval is by the checks of the other programs."""
    if one.note:
        return one.program, str(one.ranks), *"-------", one.note
    checked = replace(platform, checks=tuple(other.check for other in others))
    accuracy, of_runs = accuracy_of(checked, one.ranks), interval_of(one.times_s)
    return (
        one.program,
        str(one.ranks),
        kind,
        f"{one.run_s:.3f}",
        f"{of_runs.median_ns:.3f}",
        f"{of_runs.median_ns / one.run_s - 1:+.1%}",
        *_inside(of_runs, one.run_s),
        *(_inside(interval_of(one.times_s, accuracy), one.run_s) if accuracy else ("-", "-")),
    )


def _inside(interval: Interval, run_s: float) -> tuple[str, str]:
    low, high = interval.low_ns, interval.high_ns  # of times in seconds
    return f"{low:.3f} to {high:.3f}", "yes" if low <= run_s <= high else "no"


def _extrapolated_lines(mpi: Mpi, platform: Platform, chosen: Sequence[Case]) -> Iterator[tuple[str, ...]]:
    for case in chosen:
        with tempfile.TemporaryDirectory() as name:
            made = [_asleep(mpi, case, nprocs, Path(name)) for nprocs in INPUT_RANKS]
            for nprocs in TARGET_RANKS:
                try:
                    yield _extrapolated_line(mpi, platform, case, nprocs, made, Path(name))
                except (AssertionError, TimeoutError, ScalatraceError) as error:
                    reason = str(error).splitlines()[0].replace(f"{SAMPLES}/", "")
                    yield case.title, str(nprocs), *"-----", reason[:80]


def _asleep(mpi: Mpi, case: Case, nprocs: int, folder: Path) -> Recording:
    """The recording of a case whose computations sleep."""
    words = [word.format(n=case.size(nprocs)) for word in case.arguments]
    argv = [str(SAMPLES / case.source), *words, "--sleep-us", str(EXTRAPOLATED[case.title])]
    return recorded(mpi, nprocs, argv, folder / f"{nprocs}.st", case.noted(nprocs))


def _extrapolated_line(
    mpi: Mpi, platform: Platform, case: Case, nprocs: int, inputs: Sequence[Recording], folder: Path
) -> tuple[str, ...]:
    real = _asleep(mpi, case, nprocs, folder)
    params = {"n": case.size(nprocs)} if case.n else None
    made = extrapolate([load(one.trace) for one in inputs], nprocs, params=params)
    traces = (made.trace, load(real.trace))
    times = [drawn_runs(Simulator(trace), platform).median_ns / 1e9 for trace in traces]
    errors = [f"{time / real.run_s - 1:+.1%}" for time in times]
    return (
        case.title,
        str(nprocs),
        f"{real.run_s:.3f}",
        f"{times[0]:.3f}",
        errors[0],
        f"{times[1]:.3f}",
        errors[1],
        "",
    )


def drawn_runs(simulator: Simulator, platform: Platform) -> Interval:
    """Median and 95 % interval of runs with drawn computation times."""
    return interval_of(list(repeats(simulator, platform, Options(), REPEATS)))


def main() -> int:
    """Print the table; 1 where the mean absolute error is beyond the limit."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("platform", help="platform file of this machine")
    parser.add_argument("--real", action="store_true", help="real computations")
    parser.add_argument("--extrapolated", action="store_true", help="from traces on 4, 9 and 16 ranks")
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4, 8, 16], metavar="P")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the workloads, by how they begin")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/predictions_*.md")
    args = parser.parse_args()
    chosen = [w for w in WORKLOADS if not args.only or any(w.title.startswith(name) for name in args.only)]
    platform, kind = read_platform(args.platform), "real" if args.real else "asleep"
    if args.extrapolated:
        return _main_extrapolated(platform, args.only, args.keep)
    runs = list(_runs(installed()["openmpi"], platform, chosen, args.ranks, args.real))
    measured = [run for run in runs if not run.note]
    rows = [_row(platform, run, [m for m in measured if m.program != run.program], kind) for run in runs]
    errors = [abs(float(row[5].rstrip("%"))) / 100 for row in rows if row[5] != "-"]
    with_checks = sum(row[9] in ("yes", "no") for row in rows)
    inside, checked = (sum(row[at] == "yes" for row in rows) for at in (7, 9))
    mean = statistics.fmean(errors) if errors else 1.0
    below = (
        f"Mean absolute error {mean:.1%}, median {statistics.median(errors or [1.0]):.1%} (limit "
        f"{LIMITS[kind]:.0%}). Of {len(errors)} runs, {inside} are inside the interval of drawn runs, and "
        f"{checked} of {with_checks} inside that with checks: the runs of the other programs."
    )
    title = f"Predicted times of the workloads, computation {kind}"
    show(title, COLUMNS, rows)
    print(below)
    if args.keep:
        keep(f"predictions_{kind}", title, COLUMNS, rows, below=[below])
    return int(mean > LIMITS[kind])


def _main_extrapolated(platform: Platform, only: Sequence[str] | None, kept: bool) -> int:
    named = [
        replace(case, n=UNEQUAL_BLOCKS) if case.title in ("bt", "sp") else case
        for case in CASES
        if case.title in EXTRAPOLATED
    ]
    chosen = [case for case in named if not only or any(case.title.startswith(name) for name in only)]
    title = "Predicted times of extrapolated traces, computation asleep"
    rows = list(printed(_extrapolated_lines(installed()["openmpi"], platform, chosen)))
    show(title, EXTRAPOLATED_COLUMNS, rows)
    errors = [[abs(float(row[at].rstrip("%"))) for row in rows if row[at] != "-"] for at in (4, 6)]
    means = [f"{statistics.fmean(column):.1f}%" for column in errors if column]
    below = f"Mean absolute error of extrapolated and of recorded traces: {' and '.join(means)}."
    print(below)
    if kept:
        keep("predictions_extrapolated", title, EXTRAPOLATED_COLUMNS, rows, below=[below])
    return int(any(row[4] == "-" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
