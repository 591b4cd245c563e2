"""Figures 3.9 to 3.11 and 5.8: calls and times of replays, and of extrapolated traces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from benchmarks.extrapolate.replayed import replayed_rows
from benchmarks.replay import accuracy_rows
from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRow, NamedRows, bars, values
from benchmarks.reproduction.settings import Settings
from benchmarks.reproduction.sizes import TITLES
from benchmarks.table import Row
from support.mpis import Mpi
from support.workloads import WORKLOADS

NOT_IN_TEXT = "not in the text"

REPLAY_COLUMNS = (
    "program", "ranks", "computation", "steps", "app_s", "varies_pct",
    "lossless_s", "lossless_error_pct", "histograms_s", "histograms_error_pct",
)  # fmt: skip


def _replays(mpi: Mpi, settings: Settings) -> Iterator[Row]:
    chosen = [w for w in WORKLOADS if w.title in TITLES and settings.chosen(w.title)]
    return accuracy_rows(mpi, chosen, settings.replay_ranks, settings.unlimited, settings.repeat)


def mean_error(rows: Sequence[NamedRow], column: str) -> tuple[str, str]:
    """Return ranks, and the mean absolute error in percent."""
    errors = [abs(error) for error in values(rows, column)]
    ranks = sorted({int(row["ranks"]) for row in rows if row[column]})
    return ", ".join(map(str, ranks)) or "-", f"{fmean(errors):.1f} %" if errors else "-"


def mean_line(rows: NamedRows, there: str, theirs: str, kind: str, column: str) -> Comparison:
    """Return the mean absolute error of all programs."""
    return Comparison("all", f"mean absolute error, {kind}", there, theirs, *mean_error(rows, column))


def compare_replays(rows: NamedRows) -> list[Comparison]:
    """Return the errors of replays from histograms, and of lossless ones."""
    return [
        mean_line(rows, "not in the text", "5.7 %", "histograms", "histograms_error_pct"),
        mean_line(rows, "-", "not measured", "lossless", "lossless_error_pct"),
    ]


def plot_replays(rows: NamedRows, path: Path) -> None:
    """Draw the times of programs and replays."""
    columns = {"app_s": "program", "lossless_s": "replay, lossless", "histograms_s": "replay, histograms"}
    bars(path, rows, columns, "Replay time", "seconds")


REPLAYS = FigureStudy(
    "replay_time",
    REPLAY_COLUMNS,
    _replays,
    (
        Figure(
            "5.8",
            "Time of replays from histograms",
            "p. 93, §5.3.2",
            "The dissertation's programs compute on a cluster. Here more ranks than cores run, so the "
            "programs sleep for nine tenths of their time in place of computing. Problems are small. A "
            "replay is compared with the run whose trace it replays. Ocean stands for POP.",
            compare_replays,
            plot=plot_replays,
            timed=True,
        ),
    ),
    nkeys=2,
)


STRONG_TIMES = {
    "bt": "generally above 90 %, a little less near 16,384 ranks",
    "is": "66 to 83 %",
    "lu": "not measured",
    "sp": "not measured",
    "": "generally above 90 %",
}
"""Accuracies of Figure 3.10, by program; "": of the others."""

EXTRAPOLATED_COLUMNS = (
    "program", "scaling", "inputs", "ranks", "events", "differing_ranks", "calls", "bytes",
    "replay_differing_ranks", "app_s", "replay_s", "error_pct", "note",
)  # fmt: skip
_UP_TO = "up to 16,384"
_EXPERIMENTS = (
    "Experiment 1 compares calls and their parameters with the program's. Experiment 2 compares totals of "
    "calls and bytes of the replay with the program's. Experiment 3 compares a recording of the replay with "
    "the extrapolated trace. The dissertation states the results in words, without numbers of ranks. It fits "
    "the counts of BT approximately. Here their formula has integer divisions. Traces of IS have histograms "
    "of counts, from which replays draw, so experiment 3 does not apply."
)
_APART = (
    "Computations sleep, since more ranks than cores run. Problems and numbers of ranks are small. As in the "
    "dissertation, a plug-in describes the partners of CG."
)


def _extrapolated(computation: Collection[str], mpi: Mpi, settings: Settings) -> Iterator[Row]:
    cases = [
        case
        for case in (*settings.micro, *settings.timed)
        if case.computation in computation and settings.chosen(case.title)
    ]
    return replayed_rows(mpi, cases, settings.pacing)


_THEIR_CALLS = {
    "bt": "counts up to 13 % too small, likewise, equal",
    "cg": "equal, equal, equal, with a plug-in",
    "is": "equal, equal, equal, with small differences of counts removed",
    "sp": "not measured",
    "mg": "not extrapolated; lossy: Figure 3.12",
    "lulesh": "not measured",
}


def compare_calls(rows: NamedRows) -> list[Comparison]:
    """Return a line per row with the results of the three experiments, or the reason why there are none."""
    result = []
    for row in rows:
        ours = ", ".join(
            (_rank_text(row["differing_ranks"]), _totals(row), _rank_text(row["replay_differing_ranks"]))
        )
        if not row["differing_ranks"]:
            ours = row["note"] or "-"
        theirs = _THEIR_CALLS.get(row["program"], "equal, equal, equal")
        line = Comparison(row["program"], "experiments 1, 2, 3", NOT_IN_TEXT, theirs, row["ranks"], ours)
        result.append(line)
    nequal = sum(line.ours.startswith("equal, equal, ") for line in result)
    ranks = {int(row["ranks"]) for row in rows}
    here = f"{min(ranks)} to {max(ranks)}" if len(ranks) > 1 else "".join(map(str, ranks))
    theirs = "all but BT, of the stencils and six programs"
    if {row["program"] for row in rows} <= {"lulesh"}:
        theirs = "not measured"
    ours = f"{nequal} of {len(rows)}"
    return [*result, Comparison("all", "rows with equal calls and totals", NOT_IN_TEXT, theirs, here, ours)]


def _rank_text(differing: str) -> str:
    """A number of differing ranks as text; other words are kept."""
    if not differing.isdecimal():
        return differing or "-"
    return "equal" if differing == "0" else f"{differing} ranks differ"


def _totals(row: NamedRow) -> str:
    """Calls and bytes of the replay: "equal", or both differences."""
    texts = list(dict.fromkeys((row["calls"], row["bytes"])))
    return texts[0] or "-" if len(texts) == 1 else f"calls {row['calls']}, bytes {row['bytes']}"


def _timed(rows: NamedRows) -> NamedRows:
    """The rows of programs that compute."""
    return [row for row in rows if row["scaling"] in ("strong", "weak")]


def compare_times(theirs: Mapping[str, str], mean: str, rows: NamedRows) -> list[Comparison]:
    """Return the accuracy of each program's replay time, and their mean.

    Args:
        theirs: of the dissertation, by program; "": of the others.
        mean: of the dissertation.
    """
    quantity = "accuracy of the replay time"
    result = [
        Comparison(name.upper(), quantity, _UP_TO, theirs.get(name, theirs[""]), row["ranks"], _percent(row))
        for row in rows
        for name in [row["program"]]
    ]
    errors = [abs(error) for error in values(rows, "error_pct")]
    ours = f"{100 - sum(errors) / len(errors):.2f} %" if errors else "-"
    return [*result, Comparison("mean", quantity, _UP_TO, mean, "all", ours)]


def _percent(row: NamedRow) -> str:
    return f"{100 - abs(float(row['error_pct'])):.1f} %" if row["error_pct"] else "-"


def plot_extrapolated(title: str, rows: NamedRows, path: Path) -> None:
    """Draw the times of programs and of replays of extrapolated traces."""
    bars(path, rows, {"app_s": "program", "replay_s": "replay of the extrapolated trace"}, title, "seconds")


STRONG = FigureStudy(
    "extrapolated_replays_strong",
    EXTRAPOLATED_COLUMNS,
    partial(_extrapolated, ("-", "strong")),
    (
        Figure(
            "3.9",
            "Calls of extrapolated traces and their replays",
            "p. 28, §3.4.1",
            _EXPERIMENTS,
            compare_calls,
            headline=(-1,),
        ),
        Figure(
            "3.10",
            "Replay time of extrapolated traces, strong scaling",
            "p. 31, §3.4.2",
            _APART,
            partial(compare_times, STRONG_TIMES, "generally above 90 %, no mean"),
            rows=_timed,
            plot=partial(plot_extrapolated, "Strong scaling"),
            timed=True,
            headline=(-1,),
        ),
    ),
    nkeys=4,
)

WEAK = FigureStudy(
    "extrapolated_replays_weak",
    EXTRAPOLATED_COLUMNS,
    partial(_extrapolated, ("weak",)),
    (
        Figure(
            "3.11",
            "Replay time of extrapolated traces, weak scaling",
            "p. 34, §3.4.2",
            f"{_APART} The rows have experiments 1 to 3 of Figure 3.9, too.",
            partial(compare_times, {"": NOT_IN_TEXT}, "92.87 %"),
            plot=partial(plot_extrapolated, "Weak scaling"),
            timed=True,
            headline=(-1,),
            left_out="BT and Sweep3D with the quick settings: they take minutes",
        ),
    ),
    nkeys=4,
)
