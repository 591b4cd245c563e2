"""Figure 5.8: time of replays of traces with histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.replay import accuracy
from benchmarks.reproduction.figure import Comparison, Figure, Row, Rows, Study, values
from benchmarks.reproduction.plots import bars
from benchmarks.reproduction.settings import Settings
from benchmarks.reproduction.sizes import TITLES
from support.mpis import Mpi
from support.workloads import WORKLOADS

__all__ = ["REPLAYS", "mean_error"]

COLUMNS = (
    "program", "ranks", "computation", "steps", "app_s", "varies_pct",
    "lossless_s", "lossless_error_pct", "histograms_s", "histograms_error_pct",
)  # fmt: skip


def _measure(mpi: Mpi, settings: Settings) -> Iterator[Sequence[str]]:
    chosen = [w for w in WORKLOADS if w.title in TITLES and settings.chosen(w.title)]
    pacing, ranks = settings.pacing, settings.replay_ranks
    return accuracy.lines(mpi, chosen, ranks, pacing.sleep_us, settings.repeat, pacing.target_s)


def mean_error(rows: Sequence[Row], column: str, form: str = "{:.1f} %") -> tuple[str, str]:
    """Return ranks, and the mean absolute error in percent."""
    errors = [abs(error) for error in values(rows, column)]
    ranks = sorted({int(row["ranks"]) for row in rows if row[column]})
    return ", ".join(map(str, ranks)) or "-", form.format(fmean(errors)) if errors else "-"


def _compare(rows: Rows) -> list[Comparison]:
    return [
        Comparison(
            "all", "mean absolute error, histograms", "not in the text", "5.7 %",
            *mean_error(rows, "histograms_error_pct"),
        ),
        Comparison(
            "all", "mean absolute error, lossless", "-", "not measured",
            *mean_error(rows, "lossless_error_pct"),
        ),
    ]  # fmt: skip


def _plot(rows: Rows, path: Path) -> None:
    columns = {"app_s": "program", "lossless_s": "replay, lossless", "histograms_s": "replay, histograms"}
    bars(path, rows, columns, "Replay time", "seconds")


REPLAYS = Study(
    "replay_time",
    COLUMNS,
    _measure,
    (
        Figure(
            "5.8",
            "Time of replays from histograms",
            "p. 93, §5.3.2",
            "The dissertation's programs compute on a cluster. Here more ranks than cores run, so the "
            "programs sleep for nine tenths of their time in place of computing. Problems are small. A "
            "replay is compared with the run whose trace it replays. Ocean stands for POP.",
            _compare,
            plot=_plot,
        ),
    ),
)
