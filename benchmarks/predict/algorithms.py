"""Measured collectives beside their predictions, by the rules of the MPI library and by one rule for all."""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from benchmarks.study import Study
from benchmarks.table import ResultTable, Row
from scalatrace.predict.calibrate import read_archive
from scalatrace.predict.calibrate.collectives import CollectiveTime, collective_times
from scalatrace.predict.calibrate.fitting import fit_archive
from support.mpis import Mpi, installed
from support.running import Argument, mpirun

SETTINGS = ("--sizes", "30", "--max-bytes", str(1 << 20), "--visits", "3", "--kernel-calls", "0")
COLUMNS = (
    "MPI", "ranks", "operation", "sizes", "measured / library's rules", "measured / thakur's", "off by",
    "off by, thakur", "nearest", "fitted rules, off by",
)  # fmt: skip


def _measured(mpi: Mpi, ranks: int) -> Iterator[Row]:
    """Yield a row for each operation: of one campaign."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "a.jsonl"
        words: list[Argument] = ["calibrate", "-o", Path(folder) / "p.toml", "--archive", archive, *SETTINGS]
        mpirun(mpi, ranks, [*mpi.scalatrace(), *words], cwd=Path(folder), timeout=1200).check()
        measurements = read_archive(archive)
    calibration = fit_archive(measurements)
    collectives = measurements.of("collective")
    thakur = collective_times(collectives, replace(calibration.platform, mpi="thakur"))
    fitted = fit_archive(measurements, rules=True).collectives
    together = zip(calibration.collectives, thakur, fitted, strict=True)
    for name, times in groupby(together, key=lambda each: each[0].operation):
        library, other, fits = zip(*times, strict=True)
        nearest = sum(time.nearest == time.algorithm for time in library)
        yield (
            f"{mpi.name}, {calibration.platform.mpi}", str(ranks), name, str(len(library)),
            *(f"{statistics.median(map(_ratio, each)):.2f}" for each in (library, other)),
            *(_off(each) for each in (library, other)), f"{nearest}/{len(library)}", _off(fits),
        )  # fmt: skip


def _ratio(time: CollectiveTime) -> float:
    return time.median_ns / max(time.predicted_ns, 1.0)


def _off(times: Sequence[CollectiveTime]) -> str:
    """Return the median factor between measured and predicted times, whichever is greater."""
    return f"{math.exp(statistics.median(abs(math.log(_ratio(time))) for time in times)):.2f}"


def _rows(names: Sequence[str], ranks: Sequence[int]) -> Iterator[Row]:
    for name, mpi in installed().items():
        if mpi.python and (not names or name in names):
            for nranks in ranks:
                yield from _measured(mpi, nranks)


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    yield ResultTable(
        "simulate_algorithms",
        "Measured collectives over the times that the platform of the same campaign predicts",
        COLUMNS, _rows(args.mpi, args.ranks), nkeys=3,
        notes=["", "Ratios are medians over sizes; off by: the median factor between both times."],
    )  # fmt: skip


STUDIES = (
    Study(
        "simulate-algorithms",
        "measured collectives over predicted ones, by the rules of the MPI library and by thakur's",
        "docs/guide/calibrate.md (collectives)",
        _tables,
        {"mpi": [], "ranks": [2, 4]},
        {"ranks": [2]},
    ),
)
