"""Runs of a program on several numbers of ranks: the table of POP efficiencies, and the speed-up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.report.notebook.drawing import (
    NO_VALUE_COLOUR,
    add_legend,
    capitalized,
    new_axes,
    rank_count,
    separate_cells,
    set_titles,
)
from scalatrace.report.scaling.comparison import (
    EFFICIENCIES,
    Scaling,
    scaling_of_traces,
    speedup_name,
)
from scalatrace.report.scaling.runs import GRADES, grade
from scalatrace.report.style import coarse, coarse_duration, coarse_percent, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["SCALING", "draw_scaling", "scaled"]

SCALING = ("efficiencies", "speedup")
"""Plots of runs on several numbers of ranks."""

INCHES_OF_RUN = 1.0
"""Width of a figure for each run, at least."""

LEGEND_POINTS = 48
"""Distance of the legend from the table, with three lines between them."""

NAMES_SHARE, INDENT = 0.9, "    "
"""Width of the names beside the table, as a part of that of its columns; before a name, for each level."""

GRADE_COLOURS = {"": NO_VALUE_COLOUR, "worse": "#f4a582", "middling": "#fddc9a", "good": "#a6dba0"}


def scaled(traces: Sequence[Trace], weak: bool | None) -> Scaling:
    """Compare runs on several numbers of ranks.

    Raises:
        UsageError: there are less than two, two have the same number of ranks, or one has no times.
    """
    if len(traces) < 2:
        raise UsageError("scaling needs runs on two numbers of ranks or more: give others, such as [other]")
    return scaling_of_traces([(f"run on {rank_count(trace.nprocs)}", trace) for trace in traces], weak)


def draw_scaling(traces: Sequence[Trace], of: str, weak: bool | None, ax: Axes | None) -> Axes:
    """Draw the scaling of some runs; the arguments are those of `Plots.scaling`."""
    scaling = scaled(traces, weak)
    axes = new_axes(ax, width_inches=INCHES_OF_RUN * len(traces) if of == "efficiencies" else 0)
    if of == "speedup":
        _draw_speedup(axes, scaling)
    else:
        _draw_efficiencies(axes, scaling)
    return axes


def _draw_efficiencies(axes: Axes, scaling: Scaling) -> None:
    """Draw the table of POP efficiencies: a column for each run, colours as on the page."""
    from matplotlib.colors import ListedColormap

    runs, grades = scaling.efficiencies, list(GRADE_COLOURS)
    table = np.array([[grades.index(grade(run[name])) for run in runs] for _, name, _ in EFFICIENCIES])
    colours = ListedColormap(list(GRADE_COLOURS.values()))
    image = axes.imshow(table, cmap=colours, vmin=-0.5, vmax=len(grades) - 0.5, aspect="auto")
    separate_cells(axes, image)
    left = -0.5 - NAMES_SHARE * len(runs)
    for row, (depth, name, text) in enumerate(EFFICIENCIES):
        axes.text(left, row, f"{INDENT * depth}{text}", va="center")
        for column, run in enumerate(runs):
            value = run[name]
            axes.text(column, row, "–" if value is None else coarse_percent(value), ha="center", va="center")
    axes.set_xlim(left=left)
    axes.set_yticks([])
    axes.set_xticks(range(len(runs)), [_column_name(run) for run in runs])
    axes.text(left, len(EFFICIENCIES) - 0.4, f"ranks\nrun time\n{speedup_name(scaling.kind)}", va="top")
    for name, text in _grade_texts():
        axes.plot([], [], "s", color=GRADE_COLOURS[name], label=text)
    add_legend(axes, LEGEND_POINTS)
    set_titles(axes, "Efficiencies", [scaling.sentences[0], *map(capitalized, scaling.notes)])


def _grade_texts() -> Iterator[tuple[str, str]]:
    """Yield the grades, and which efficiencies they have."""
    above = 1.0
    for name, least in GRADES:
        yield name, f"{coarse_percent(least)} or more" if least else f"below {coarse_percent(above)}"
        above = least


def _column_name(run: dict[str, float | None]) -> str:
    ranks, run_time_ns, speedup = (run[name] or 0.0 for name in ("ranks", "run_time_ns", "speedup"))
    return f"{number(ranks)}\n{coarse_duration(run_time_ns)}\n{coarse(speedup):g}"


def _draw_speedup(axes: Axes, scaling: Scaling) -> None:
    from matplotlib.ticker import NullLocator

    ranks = [run.nranks for run in scaling.runs]
    name = speedup_name(scaling.kind)
    axes.plot(ranks, [run["speedup"] or 0.0 for run in scaling.efficiencies], marker="o", label=name)
    perfect = [nranks / ranks[0] for nranks in ranks]
    axes.plot(ranks, perfect, marker=".", linestyle="--", color="0.6", label="perfect")
    axes.set_xscale("log", base=2)
    axes.set_xticks(ranks, [number(nranks) for nranks in ranks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(bottom=0)
    axes.set_xlabel("ranks (number)")
    axes.set_ylabel(f"{name} over the run on {rank_count(ranks[0])} (ratio)")
    axes.legend()
    set_titles(axes, capitalized(name), [scaling.sentences[0], *map(capitalized, scaling.notes)])
