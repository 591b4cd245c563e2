"""`regress`: tests of a new run against its history, an overview of all runs, and their efficiencies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.files import write_file
from scalatrace.report.costs.compared import Key, moved_sites
from scalatrace.report.costs.phases import phase_lines
from scalatrace.report.costs.rows import JOIN, timed_by_node
from scalatrace.report.curves import check_plot
from scalatrace.report.predictions.columns import RUNS, SHOWN_TESTS
from scalatrace.report.predictions.verdict import (
    is_unsure,
    limit_text,
    test_rows,
    undecided_lines,
    unlikely_first,
)
from scalatrace.report.style import (
    DIM,
    SITE,
    estimate,
    number,
    text_table,
)
from scalatrace.trace.model.callsite import short_frame, split_frame
from scalatrace.trace.model.trace import Trace

__all__ = ["RegressReporter"]

RUNS_SHOWN = 10
"""Runs in the table of efficiencies."""

TESTS_SHOWN = 10
"""Tests in the table, the least likely first."""

FACTORS_DRAWN = 6
"""Evolution plots in one figure."""

RESULT_STYLES = {"slower": "bold red", "faster": "bold blue"}

LEVELS = ((1e-4, "#", "="), (1e-2, "+", "-"))
"""Likelihood below which a run gets a sign in the overview: slower, faster."""


class RegressReporter:
    """Shows the data of `regress`: `runs`, `verdict`, `evolution`, `window_evolution`, `efficiency`."""

    def __init__(self, data: Mapping[str, Any], in_ns: bool = True) -> None:
        self.data = data
        self.in_ns = in_ns

    def render(self, console: Console) -> None:
        """Print the verdict, tests, overview, efficiencies, and the files that were written."""
        console.print(self._verdict(), soft_wrap=True)
        for note in undecided_lines(self.data["verdict"]):
            console.print(Text(note, style="yellow"), soft_wrap=True)
        console.print(text_table(SHOWN_TESTS, self._tests()))
        if (more := len(self.data["verdict"]["tests"]) - TESTS_SHOWN) > 0:
            console.print(Text(f"… {more} more tests with larger likelihoods", style=DIM))
        console.print(Text("runs, the oldest first: # + slower, = - faster, . as before", style=DIM))
        for line in self._overview():
            console.print(line, soft_wrap=True)
        self._efficiency(console)
        if others := self.data.get("other_sizes"):
            runs = "run is" if len(others) == 1 else "runs are"
            text = f"{len(others)} {runs} on another number of ranks, and left out"
            console.print(Text(text, style=DIM), soft_wrap=True)
        if text := phase_lines(self.data.get("phases", ())):
            console.print(Text(text, style=DIM), soft_wrap=True)
        for file in self.data.get("written", ()):
            console.print(f"wrote {file}", soft_wrap=True)

    def _tests(self) -> Iterator[dict[str, Any]]:
        tests = unlikely_first(self.data["verdict"])[:TESTS_SHOWN]
        for test, row in zip(tests, test_rows(tests, self.in_ns), strict=True):
            yield {**row, "result": Text(row["result"], style=RESULT_STYLES.get(test["result"], DIM))}

    def _overview(self) -> list[Text]:
        """Return a line per factor with a sign per run."""
        lines = []
        width = max((len(evolution["factor"]) for evolution in self.data["evolution"]), default=0)
        for evolution in self.data["evolution"]:
            line = Text(f"{clean(evolution['factor']):<{width}}  ", style=SITE)
            signs = zip(
                evolution["values"], evolution["low"], evolution["high"], evolution["likelihood"], strict=True
            )
            for value, low, high, likelihood in signs:
                sign = _sign(value, low, high, likelihood)
                line.append(
                    sign, style={"#": "bold red", "+": "red", "=": "bold blue", "-": "blue"}.get(sign, DIM)
                )
            lines.append(line)
        return lines

    def _efficiency(self, console: Console) -> None:
        listed = self.data["efficiency"]
        if not listed:
            return
        predicted = next((row["prediction"] for row in listed if row.get("prediction")), None)
        table = RUNS.without("prediction")
        if predicted:
            table = RUNS.headed(prediction=f"slowest of {number(predicted['nranks'])} ranks")
        rows = (
            {**dict.fromkeys(RUNS.names), **row, "prediction": _prediction(row.get("prediction"))}
            for row in listed[-RUNS_SHOWN:]
        )
        console.print(text_table(table, rows))
        if any("run_time_ns" in row for row in listed):
            note = "run time: of the longest rank; total and all other factors: means of the ranks"
            console.print(Text(note, style=DIM), soft_wrap=True)

    def _verdict(self) -> Text:
        verdict = self.data["verdict"]
        slower = [test for test in verdict["tests"] if test["result"] == "slower"]
        level = f"{len(verdict['tests'])} tests, confidence {verdict['confidence']:g} in all together"
        if not slower:
            unsure = is_unsure(verdict)
            text = f"no regression{f', {limit}' if (limit := limit_text(verdict)) else ''} ({level})"
            return Text(text, style="bold yellow" if unsure else "bold green")
        names = ", ".join(dict.fromkeys(clean(test["factor"]) for test in slower))
        return Text(f"REGRESSION: {names} ({level})", style="bold red")

    def draw(self, path: Path) -> None:
        """Write the overview and the evolution of the first factors as one figure. As `draw_curves`."""
        check_plot(path)
        import matplotlib  # type: ignore[import-not-found,unused-ignore]

        matplotlib.use("Agg")
        from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]

        evolutions, windowed = self.data["evolution"], self.data["window_evolution"]
        drawn = evolutions[:FACTORS_DRAWN]
        heights = [*([max(1.0, 0.25 * len(evolutions))] * 2), *([1.8] * len(drawn))]
        figure, axes = pyplot.subplots(
            len(heights), 1, figsize=(9, sum(heights) + 1), layout="constrained", height_ratios=heights
        )
        _draw_overview(axes[0], evolutions)
        _draw_overview(axes[1], windowed)
        for panel, evolution in zip(axes[2:], drawn, strict=True):
            _draw_evolution(panel, evolution, 1e9 if self.in_ns else 1.0)
        file = BytesIO()
        figure.savefig(file, format=path.suffix[1:])
        pyplot.close(figure)
        write_file(path, file.getvalue())


def _prediction(row: Mapping[str, Any] | None) -> str:
    """Return the computation of the slowest rank with its interval."""
    if row is None:
        return "-"
    return estimate(row["median_ns"], row["low_ns"], row["high_ns"])


def _sign(value: float | None, low: float | None, high: float | None, likelihood: float | None) -> str:
    if value is None or low is None or high is None or likelihood is None:
        return " "
    slower = value > (low + high) / 2
    return next((more if slower else less for limit, more, less in LEVELS if likelihood < limit), ".")


def _draw_overview(axes: Any, evolutions: Sequence[Mapping[str, Any]]) -> None:
    """Draw a row per factor and a point per run; the colour is the sign's."""
    colours = {
        "#": "darkred",
        "+": "salmon",
        "=": "darkblue",
        "-": "skyblue",
        ".": "seagreen",
        " ": "lightgrey",
    }
    for row, evolution in enumerate(evolutions):
        marks = zip(
            evolution["values"], evolution["low"], evolution["high"], evolution["likelihood"], strict=True
        )
        shades = [colours[_sign(*mark)] for mark in marks]
        axes.scatter(range(len(shades)), [row] * len(shades), c=shades, s=18)
    axes.set_yticks(range(len(evolutions)), [evolution["factor"] for evolution in evolutions], fontsize=7)
    axes.invert_yaxis()
    window = evolutions[0]["window"] if evolutions else 1
    axes.set_title(f"mean of {window} runs: slower red, faster blue", fontsize=9)


def _draw_evolution(axes: Any, evolution: Mapping[str, Any], scale: float) -> None:
    """Draw the values of a factor and the fluctuation interval."""
    places = [i for i, low in enumerate(evolution["low"]) if low is not None]
    low, high = ([evolution[name][i] / scale for i in places] for name in ("low", "high"))
    axes.fill_between(places, low, high, color="lightgrey", label="fluctuation interval")
    values = [(i, value / scale) for i, value in enumerate(evolution["values"]) if value is not None]
    axes.plot(*zip(*values, strict=True), "o-", markersize=3)
    axes.set_title(evolution["factor"], fontsize=8)
    axes.set_ylabel("s" if scale != 1 else "", fontsize=8)


FACTOR_KEYS = ("site", "function", "op")
"""What distinguishes factors: the line, the function, or the operation only."""


class KnownSites:
    """Call sites of a series of runs, each as the first run has it.

    Where a file or line changed, they are paired as in `diff`: new ones with those of the run before that are
    gone.
    """

    def __init__(self) -> None:
        self._first: dict[Key, Key] = {}
        self._previous: set[Key] = set()

    def add(self, keys: Iterable[Key]) -> dict[Key, Key]:
        """Add the operations and call sites of the next run; return each as the first run has it."""
        sites = set(keys)
        moved = moved_sites(self._previous - sites, sites - self._first.keys())
        for key in sites - self._first.keys():
            self._first[key] = self._first[moved[key]] if key in moved else key
        self._previous = sites
        return {key: self._first[key] for key in sites}


def time_factors(trace: Trace, by: str = "site", known_sites: KnownSites | None = None) -> dict[str, float]:
    """Return the mean time per rank in ns of each call site: in the calls, and computing before them.

    Start-up and shut-down are left out.

    Args:
        by: one of FACTOR_KEYS. Lines move when a program is edited, functions and operations do not.
        known_sites: call sites of the runs before this one, which name those of this run.
    """
    factors: dict[str, float] = {}
    trace = trace.without_phases
    rows = timed_by_node(trace, "op" if by == "op" else "site")
    first = {} if known_sites is None or by == "op" else known_sites.add(row.key for row in rows)
    for row in rows:
        place = "" if by == "op" else f" {_place(first.get(row.key, row.key)[1], by)}"
        for quantity, ns in (("MPI", row.comm_ns), ("before", row.compute_ns)):
            if ns is not None:
                name = f"{row.key[0]}{place} {quantity}"
                factors[name] = factors.get(name, 0.0) + ns / len(trace.ranks)
    return factors


def _place(site: str, by: str) -> str:
    frame = site.split(JOIN)[0]
    if by == "site":
        return short_frame(frame)
    parts = split_frame(frame)
    return f"{parts.file_name}:{parts.name or parts.function}"
