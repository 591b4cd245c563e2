"""Figures 3.9 to 3.11: calls and times of extrapolated traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.extrapolate import replayed
from benchmarks.reproduction.figure import Comparison, Figure, Row, Rows, Study, values
from benchmarks.reproduction.plots import bars
from benchmarks.reproduction.settings import Settings
from support.mpis import Mpi

__all__ = ["EXTRAPOLATION"]

COLUMNS = (
    "program", "scaling", "inputs", "ranks", "events", "differing_ranks", "calls", "bytes",
    "replay_differing_ranks", "app_s", "replay_s", "error_pct", "note",
)  # fmt: skip
_UP_TO = "up to 16,384"
_APART = (
    "Computations sleep, since more ranks than cores run. Problems and numbers of ranks are small. As in the "
    "dissertation, a plug-in describes the partners of CG."
)


def _measure(mpi: Mpi, settings: Settings) -> Iterator[Sequence[str]]:
    cases = [case for case in (*settings.micro, *settings.timed) if settings.chosen(case.title)]
    timing = replayed.Timing(settings.sleep_us, settings.run_s, settings.longest_s)
    return replayed.lines(mpi, cases, timing)


def _calls(rows: Rows) -> list[Comparison]:
    result = []
    for row in rows:
        theirs = "equal"
        if row["program"] == "bt":
            theirs = "counts up to 13 % too small"
        elif row["program"] == "sweep3d" or row["scaling"] == "weak":
            theirs = "equal (weak scaling, §3.4.2)"
        title = row["program"] + (f", {row['scaling']}" if row["scaling"] != "-" else "")
        result.append(Comparison(title, "calls and parameters", _UP_TO, theirs, row["ranks"], _exp1(row)))
        result.append(
            Comparison(title, "calls, bytes of the replay", _UP_TO, theirs, row["ranks"], _exp2(row))
        )
        if row["replay_differing_ranks"] != "drawn":
            again = _ranks_text(row["replay_differing_ranks"])
            result.append(Comparison(title, "recorded replay", _UP_TO, "equal", row["ranks"], again))
    return result


def _exp1(row: Row) -> str:
    return _ranks_text(row["differing_ranks"])


def _ranks_text(differing: str) -> str:
    if not differing:
        return "-"
    return "equal" if differing == "0" else f"{differing} ranks differ"


def _exp2(row: Row) -> str:
    if not row["calls"]:
        return "-"
    texts = dict.fromkeys((row["calls"], row["bytes"]))
    return "equal" if list(texts) == ["equal"] else f"{row['calls']}, {row['bytes']}"


def _of(scaling: str) -> Callable[[Rows], Rows]:
    return lambda rows: [row for row in rows if row["scaling"] == scaling]


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


EXTRAPOLATION = Study(
    "extrapolated_replays",
    COLUMNS,
    _measure,
    (
        Figure(
            "3.9",
            "Calls of extrapolated traces and their replays",
            "p. 28, §3.4.1",
            "The three quantities are experiments 1 to 3 of the figure. The dissertation states their "
            "results in words. It fits the counts of BT approximately. Here their formula "
            "has integer divisions. "
            "Traces of IS have histograms of counts, from which replays draw. So a recorded replay differs.",
            _calls,
        ),
        Figure(
            "3.10",
            "Replay time of extrapolated traces, strong scaling",
            "p. 31, §3.4.2",
            _APART,
            partial(_accuracy, {"is": "66 to 83 %", "": "generally above 90 %"}, "not in the text"),
            rows=_of("strong"),
            plot=partial(_plot, "Strong scaling"),
        ),
        Figure(
            "3.11",
            "Replay time of extrapolated traces, weak scaling",
            "p. 34, §3.4.2",
            _APART,
            partial(_accuracy, {"": "not in the text"}, "92.87 %"),
            rows=_of("weak"),
            plot=partial(_plot, "Weak scaling"),
        ),
    ),
)
