"""Figures 4.8, 4.9, 4.10 and 4.13: times of generated benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.generate.times import SCALABLE as SCALABLE_COLUMNS
from benchmarks.generate.times import collective_rows, computation_rows, scalable_rows, timing_rows
from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRows, bars, curve
from benchmarks.reproduction.replays import NOT_IN_TEXT, mean_error
from benchmarks.reproduction.settings import Settings
from benchmarks.table import Row, number, stored_rows
from support.mpis import Mpi
from support.workloads import WORKLOADS, Workload

_LANGUAGES = ("c_s", "c_error_pct", "python_s", "python_error_pct", "conceptual_s", "conceptual_error_pct")
_LONG_RUNS = "generate_scalable"
"""The study of long runs of scalable benchmarks, which Figure 4.9 shows, too."""

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
    errors = mean_error(rows, _ERROR)
    mean = Comparison("all", "mean absolute error, coNCePTuaL", NOT_IN_TEXT, "2.9 %", *errors)
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
    """The errors of the stored long runs, then those of these rows, whose runs are short."""
    long_runs = [SCALABLE.row(cells) for cells in stored_rows(_LONG_RUNS, SCALABLE_COLUMNS)]
    kinds = (
        (long_runs, "absolute error, coNCePTuaL", _ERROR),
        (long_runs, "absolute error, C", "c_error_pct"),
        (rows, "absolute error, C, short runs", "c_error_pct"),
    )
    return [
        Comparison(program, quantity, ranks, theirs, *mean_error(rows_of(program, chosen), column))
        for program, ranks, theirs in (("BT", "16 to 400", "5.12 %"), ("FT", "from 8", "3.42 %"))
        for chosen, quantity, column in kinds
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
    ours = {row["ranks"]: f"{float(row['longer_pct']):+.1f} %" for row in rows if row["longer_pct"]}
    sixteen = ("16", ours["16"]) if "16" in ours else ("-", "-")
    most = max(map(int, ours), default=0)
    largest = (str(most), ours[str(most)]) if most > 16 else ("-", "-")
    return [
        Comparison("FT", "messages longer than collectives", "16", "+0.5 %", *sixteen),
        Comparison("FT", "messages longer than collectives", "256", "+46.2 %", *largest),
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
            "The dissertation ran BT of class D and FT of class C. Here computations of the programs sleep, "
            "and problems are small. Traces of other numbers of ranks are extrapolated (*inputs*). Errors "
            "are first those of runs of 5 to 25 s, from [another study](results/generate_scalable.md). "
            "The rows below are *short runs*, of C. What Python computes between its sleeps, with many "
            "ranks on few cores, is not in the benchmark: the shorter the sleep (*asleep*), the larger the "
            "error.",
            _scalable_compare, plot=lambda rows, path: _bars("Scalable benchmarks", rows, path),
            headline=(0, 1, 3, 4),
            left_out="400 ranks: they share the cores of one machine",
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
            left_out="Ethernet between nodes: there is one machine",
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
            left_out="256 ranks: they share the cores of one machine",
            plot=plot_collectives,
            timed=True,
        ),
    ),
    nkeys=2,
)  # fmt: skip
