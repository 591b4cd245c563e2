"""Figures 4.8, 4.9, 4.10 and 4.13: times of generated benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.generate.times import collective_rows, computation_rows, scalable_rows, timing_rows
from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRows, bars, curve
from benchmarks.reproduction.replays import mean_error
from benchmarks.reproduction.settings import Settings
from benchmarks.table import Row, number
from support.mpis import Mpi
from support.workloads import WORKLOADS, Workload

_LANGUAGES = ("c_s", "c_error_pct", "python_s", "python_error_pct", "conceptual_s", "conceptual_error_pct")
_BARS = {"app_s": "program", "c_s": "C", "python_s": "Python", "conceptual_s": "coNCePTuaL"}
_ERROR = "conceptual_error_pct"
_TITLES = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp", "sweep3d")
_SLEEPING = (
    "The dissertation ran class C problems on a Blue Gene/L. Here computations of the programs sleep, and "
    "problems are small; benchmarks are coNCePTuaL, translated to C by `scalatrace ncptl compile`."
)


def _workloads(settings: Settings, *titles: str) -> list[Workload]:
    return [w for w in WORKLOADS if w.title in titles and settings.chosen(w.title)]


def _bars(title: str, rows: NamedRows, path: Path) -> None:
    shown = {column: name for column, name in _BARS.items() if any(number(row[column]) for row in rows)}
    bars(path, rows, shown, title, "seconds")


def _timing(mpi: Mpi, settings: Settings) -> Iterator[Row]:
    chosen, ranks, pacing = _workloads(settings, *_TITLES), settings.timing_ranks, settings.unlimited
    return timing_rows(mpi, chosen, ranks, pacing, settings.repeat, settings.languages)


def _timing_compare(rows: NamedRows) -> list[Comparison]:
    mean = Comparison("all", "mean absolute error", "up to 256", "2.9 %", *mean_error(rows, _ERROR))
    return [mean, *largest_errors(rows)]


def largest_errors(rows: NamedRows) -> list[Comparison]:
    """Return the errors of benchmarks of the programs that the dissertation names."""
    kinds = ("LU", "256", "22 %"), ("SP", "16", "10 %")
    quantity = "absolute error (the largest)"
    return [
        Comparison(program, quantity, ranks, theirs, *mean_error(rows_of(program, rows), _ERROR))
        for program, ranks, theirs in kinds
    ]


def rows_of(program: str, rows: NamedRows) -> NamedRows:
    """Return the rows of a program."""
    return [row for row in rows if row["program"] == program.lower()]


def _scalable(mpi: Mpi, settings: Settings) -> Iterator[Row]:
    cases = [case for case in settings.scalable if settings.chosen(case.title)]
    return scalable_rows(mpi, cases, settings.scalable_pacing, settings.repeat, settings.scalable_languages)


def _scalable_compare(rows: NamedRows) -> list[Comparison]:
    return [
        Comparison(
            program, "mean absolute error", ranks, theirs,
            *mean_error(rows_of(program, rows), "c_error_pct"),
        )
        for program, ranks, theirs in (("BT", "16 to 400", "5.12 %"), ("FT", "from 8", "3.42 %"))
    ]  # fmt: skip


def _computation(mpi: Mpi, settings: Settings) -> Iterator[Row]:
    chosen, ranks, scales = _workloads(settings, "bt"), settings.computation_ranks, settings.scales
    return computation_rows(mpi, chosen, ranks, settings.unlimited, settings.benchmark_repeat, scales)


def compare_computation(rows: NamedRows) -> list[Comparison]:
    """Return the times with less computation, of the original one."""
    theirs = {"30": "79 %", "0": "100 % (essentially no speedup)"}
    return [
        Comparison("BT", f"time with {row['computation_pct']} % computation", "64",
                   theirs[row["computation_pct"]], row["ranks"], f"{float(row['of_original_pct']):.0f} %")
        for row in rows
        if row["computation_pct"] in theirs and number(row["of_original_pct"]) is not None
    ]  # fmt: skip


def plot_computation(rows: NamedRows, path: Path) -> None:
    """Draw the time over the computation that is left."""
    curve(path, rows, "computation_pct", {"spent_s": "benchmark"}, "Shorter computation")


def _collectives(mpi: Mpi, settings: Settings) -> Iterator[Row]:
    chosen, ranks = _workloads(settings, "ft"), settings.collective_ranks
    return collective_rows(mpi, chosen, ranks, settings.collective_steps, settings.benchmark_repeat)


def _collectives_compare(rows: NamedRows) -> list[Comparison]:
    measured = sorted((row for row in rows if row["longer_pct"]), key=lambda row: int(row["ranks"]))
    ours = [(row["ranks"], f"{float(row['longer_pct']):+.1f} %") for row in measured] or [("-", "-")]
    sixteen = next((pair for pair in ours if pair[0] == "16"), ("-", "-"))
    return [
        Comparison("FT", "messages longer than collectives", "16", "+0.5 %", *sixteen),
        Comparison("FT", "messages longer than collectives", "256", "+46.2 %", *ours[-1]),
    ]


def plot_collectives(rows: NamedRows, path: Path) -> None:
    """Draw the times of collectives, and of messages in their place, over the ranks."""
    curve(path, rows, "ranks", {"collectives_s": "collectives", "messages_s": "messages"}, "FT")


TIMING = FigureStudy(
    "benchmark_time",
    ("program", "ranks", "asleep_ms", "steps", "app_s", *_LANGUAGES),
    _timing,
    (
        Figure(
            "4.8", "Time of generated benchmarks", "p. 64, §4.5.3",
            f"{_SLEEPING} All other points of the dissertation's figure are within 10 %.",
            _timing_compare, plot=lambda rows, path: _bars("Generated benchmarks", rows, path),
            timed=True,
        ),
    ),
    nkeys=2,
)  # fmt: skip

SCALABLE = FigureStudy(
    "scalable_benchmark_time",
    ("program", "inputs", "ranks", "asleep_ms", "steps", "app_s", *_LANGUAGES),
    _scalable,
    (
        Figure(
            "4.9", "Time of scalable benchmarks at sizes without a trace", "p. 65, §4.5.4",
            f"{_SLEEPING} These are C, which checks its formulas when it starts. Traces of other numbers of "
            "ranks are extrapolated (*inputs*). What Python computes between its sleeps, with many ranks on "
            "few cores, is not in the benchmark: the shorter the sleep (*asleep*), the larger the error. "
            "Runs of 25 s are in results/generate_scalable.md.",
            _scalable_compare, plot=lambda rows, path: _bars("Scalable benchmarks", rows, path),
            headline=(0, 1),
            timed=True,
        ),
    ),
    nkeys=3,
)  # fmt: skip

COMPUTATION = FigureStudy(
    "computation_time",
    ("program", "ranks", "computation_pct", "spent_s", "of_original_pct"),
    _computation,
    (
        Figure(
            "4.10", "Time of a benchmark with shorter computation", "p. 67, §4.5.5",
            "The dissertation ran BT, class C, over Ethernet. Without computation between them, its messages "
            "saturate the receivers. Here all ranks share the memory of one machine and messages are small. "
            "So time follows the computation.",
            compare_computation,
            plot=plot_computation,
            headline=(0, 1),
            timed=True,
        ),
    ),
    nkeys=3,
)  # fmt: skip

COLLECTIVES = FigureStudy(
    "collective_time",
    ("program", "ranks", "collectives_s", "messages_s", "longer_pct"),
    _collectives,
    (
        Figure(
            "4.13", "Collectives and messages in their place", "p. 70, §4.5.5",
            "The dissertation ran FT, class C, on a cluster. Here all messages go through shared memory and "
            "ranks share cores, so the difference shows the number of messages, not the network.",
            _collectives_compare,
            plot=plot_collectives,
            timed=True,
        ),
    ),
    nkeys=2,
)  # fmt: skip
