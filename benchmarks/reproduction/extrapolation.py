"""Figures 3.9 to 3.11: calls and times of extrapolated traces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.extrapolate import replayed
from benchmarks.reproduction.figure import Comparison, Figure, Row, Rows, Study, values
from benchmarks.reproduction.plots import bars
from benchmarks.reproduction.settings import Settings
from support.mpis import Mpi

__all__ = ["STRONG", "WEAK"]

COLUMNS = (
    "program", "scaling", "inputs", "ranks", "events", "differing_ranks", "calls", "bytes",
    "replay_differing_ranks", "app_s", "replay_s", "error_pct", "note",
)  # fmt: skip
_UP_TO = "up to 16,384"
_EXPERIMENTS = (
    "Experiment 1 compares calls and their parameters with the program's. Experiment 2 compares totals of "
    "calls and bytes of the replay with the program's. Experiment 3 compares a recording of the replay with "
    "the extrapolated trace. The dissertation states the results in words. It fits the counts of BT "
    "approximately. Here their formula has integer divisions. Traces of IS have histograms of counts, from "
    "which replays draw, so experiment 3 does not apply."
)
_APART = (
    "Computations sleep, since more ranks than cores run. Problems and numbers of ranks are small. As in the "
    "dissertation, a plug-in describes the partners of CG."
)


def _measure(computation: Collection[str], mpi: Mpi, settings: Settings) -> Iterator[Sequence[str]]:
    cases = [
        case
        for case in (*settings.micro, *settings.timed)
        if case.computation in computation and settings.chosen(case.title)
    ]
    return replayed.lines(mpi, cases, settings.pacing)


def _calls(rows: Rows) -> list[Comparison]:
    """Return a line per program with the results of the three experiments."""
    result = []
    for row in rows:
        theirs = "equal, equal, equal"
        if row["program"] == "bt":
            theirs = "counts up to 13 % too small, likewise, equal"
        ours = ", ".join(
            (_ranks(row["differing_ranks"]), _totals(row), _ranks(row["replay_differing_ranks"]))
        )
        result.append(Comparison(row["program"], "experiments 1, 2, 3", _UP_TO, theirs, row["ranks"], ours))
    return result


def _ranks(differing: str) -> str:
    """A number of differing ranks as text; other words are kept."""
    if not differing.isdecimal():
        return differing or "-"
    return "equal" if differing == "0" else f"{differing} ranks differ"


def _totals(row: Row) -> str:
    """Calls and bytes of the replay: "equal", or both differences."""
    texts = list(dict.fromkeys((row["calls"], row["bytes"])))
    return texts[0] or "-" if len(texts) == 1 else f"calls {row['calls']}, bytes {row['bytes']}"


def _timed(rows: Rows) -> Rows:
    """The rows of programs that compute."""
    return [row for row in rows if row["scaling"] in ("strong", "weak")]


def _accuracy(theirs: dict[str, str], mean: str, rows: Rows) -> list[Comparison]:
    quantity = "accuracy of the replay time"
    result = [
        Comparison(name.upper(), quantity, _UP_TO, theirs.get(name, theirs[""]), row["ranks"], _percent(row))
        for row in rows
        for name in [row["program"]]
    ]
    errors = [abs(error) for error in values(rows, "error_pct")]
    ours = f"{100 - sum(errors) / len(errors):.2f} %" if errors else "-"
    return [*result, Comparison("mean", quantity, _UP_TO, mean, "all", ours)]


def _percent(row: Row) -> str:
    return f"{100 - abs(float(row['error_pct'])):.1f} %" if row["error_pct"] else "-"


def _plot(title: str, rows: Rows, path: Path) -> None:
    bars(path, rows, {"app_s": "program", "replay_s": "replay of the extrapolated trace"}, title, "seconds")


STRONG = Study(
    "extrapolated_replays_strong",
    COLUMNS,
    partial(_measure, ("-", "strong")),
    (
        Figure(
            "3.9",
            "Calls of extrapolated traces and their replays",
            "p. 28, §3.4.1",
            _EXPERIMENTS,
            _calls,
        ),
        Figure(
            "3.10",
            "Replay time of extrapolated traces, strong scaling",
            "p. 31, §3.4.2",
            _APART,
            partial(_accuracy, {"is": "66 to 83 %", "": "generally above 90 %"}, "not in the text"),
            rows=_timed,
            plot=partial(_plot, "Strong scaling"),
        ),
    ),
)

WEAK = Study(
    "extrapolated_replays_weak",
    COLUMNS,
    partial(_measure, ("weak",)),
    (
        Figure(
            "3.11",
            "Replay time of extrapolated traces, weak scaling",
            "p. 34, §3.4.2",
            f"{_APART} The rows have experiments 1 to 3 of Figure 3.9, too.",
            partial(_accuracy, {"": "not in the text"}, "92.87 %"),
            plot=partial(_plot, "Weak scaling"),
        ),
    ),
)
