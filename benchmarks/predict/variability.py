"""Predicted computation of the slowest rank against runs on more ranks (Dominguez-Trujillo 2021, §3.4.3).

FTQ, asleep, so that ranks may share cores. The times of the fewest ranks are the input; the rows compare the
medians and intervals of `scalatrace variability` with the sum of the slowest rank's times on more ranks.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.study import Study, find_mpi, one_table
from benchmarks.table import NO_VALUE, Row, errors_in, verdict
from scalatrace.predict.variability import read_times
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun, run

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

MEAN_US = 50_000
LIMIT = 0.1


def _times(mpi: Mpi, nranks: int, steps: int, folder: Path) -> Path:
    """Run FTQ; return the file of each rank's seconds per interval."""
    file = folder / f"{nranks}.csv"
    words = [
        SAMPLES / "variability.py",
        "ftq",
        "--sleep",
        "--mean-us",
        MEAN_US,
        "--steps",
        steps,
        "--times",
        file,
    ]
    mpirun(mpi, nranks, [str(mpi.python), *map(str, words)], timeout=300).check()
    return file


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi, [first, *more] = find_mpi(), args.ranks
    with tempfile.TemporaryDirectory() as name:
        measured = {n: _times(mpi, n, args.steps, Path(name)) for n in args.ranks}
        command = [*mpi.scalatrace(), "variability", "--times", measured[first], "--json"]
        command += ["--ranks-per-node", str(RANKS_PER_NODE), "-P", *map(str, more)]
        predictions = json.loads(run(command, timeout=300).check().stdout)["predictions"]
        totals = {n: float(read_times(file).max(axis=1).sum()) for n, file in measured.items()}
        yield "ftq, asleep", str(first), str(first), "-", f"{totals[first]:.3f}", *[NO_VALUE] * 4
        for prediction in predictions:
            nranks, seconds = prediction["nranks"], totals[prediction["nranks"]]
            median, low, high = (prediction[f"{key}_ns"] / 1e9 for key in ("median", "low", "high"))
            yield (
                "ftq, asleep", str(first), str(nranks), prediction["method"], f"{seconds:.3f}",
                f"{median:.3f}",
                f"{median / seconds - 1:+.1%}", f"{low:.3f} to {high:.3f}",
                "yes" if low <= seconds <= high else "no",
            )  # fmt: skip


def _judge(rows: Sequence[Row]) -> list[str]:
    inside = [row[-1] == "yes" for row in rows if row[-1] != NO_VALUE]
    worst = max(errors_in(rows, 6))
    return [
        f"{sum(inside)} of {len(inside)} inside",
        verdict(worst <= LIMIT, f"medians within {LIMIT:.0%} (worst {worst:.1%})"),
    ]


STUDIES = (
    Study(
        "variability",
        "computation of the slowest rank predicted from few ranks, against runs on more",
        "docs/evaluation.md",
        one_table("variability", "Slowest ranks, predicted and measured", COLUMNS, _rows, judge=_judge),
        {"ranks": [8, 16, 32], "steps": 60},
        {"ranks": [4, 8], "steps": 10},
    ),
)
