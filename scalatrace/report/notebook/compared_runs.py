"""Two runs of a program: the times that differ, as rows and as a plot."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from scalatrace.escapes import clean
from scalatrace.report.costs.comparison import ComparisonReporter
from scalatrace.report.notebook.drawing import add_legend, capitalized, new_axes, set_titles, time_unit
from scalatrace.report.page.comparison import BETTER, LESS, WORSE, change
from scalatrace.report.style import coarse_duration, number, ratio_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["COMPARED", "compared", "draw_differences"]

COMPARED = ("op", "site")
"""What a row of a comparison stands for."""

MAX_BARS, MIN_SHARE = 12, 0.01
"""Times that are drawn, and the part of all differences from which on they are."""

BAR_CHARS, NO_BREAK = 84, "\N{NO-BREAK SPACE}"
"""Characters of a line above a bar, and the space at which lines are not broken."""

INCHES_OF_BAR, INCHES_AROUND = 0.5, 1.8
"""Heights of a bar with its text, and of all around the bars."""

BAR_OFFSET, BAR_HEIGHT = 0.2, 0.3
"""Place of a bar below its text, and its height, as parts of the height of both."""

TEXT_INDENT = 0.005
"""Space before the text of a bar, as a part of the width of the Axes."""

CHANGE_COLOURS = {BETTER: "tab:green", WORSE: "tab:red", "": "tab:gray"}


def compared(before: Trace, after: Trace, by: str) -> ComparisonReporter:
    """Compare two runs."""
    return ComparisonReporter(before, after, by, True, MAX_BARS)


def draw_differences(before: Trace, after: Trace, by: str, ax: Axes | None) -> Axes:
    """Draw the times that differ between two runs; the arguments are those of `Plots.compare`."""
    runs = compared(before, after, by)
    differing = runs.times()
    rows = [row for row in differing if row["share_of_difference"] >= MIN_SHARE][:MAX_BARS]
    axes = new_axes(ax, INCHES_OF_BAR * len(rows) + INCHES_AROUND)
    unit = time_unit(max((abs(row["difference_ns"]) for row in rows), default=0.0))
    for at, row in enumerate(rows):
        judged = _judge(row)
        axes.barh(
            at + BAR_OFFSET, row["difference_ns"] / unit.ns, BAR_HEIGHT, color=CHANGE_COLOURS[judged],
            label=judged or "change of 5 % or less",
        )  # fmt: skip
        text = "\n".join(wrap(_row_text(row), BAR_CHARS))
        axes.text(
            TEXT_INDENT, at, text, transform=axes.get_yaxis_transform(), va="bottom", fontsize="small",
            parse_math=False, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0},
        )  # fmt: skip
    axes.set_yticks([])
    axes.set_xlabel(f"time after minus time before, mean of a rank ({unit.name})")
    axes.spines[["left", "top", "right"]].set_visible(False)
    if rows:
        axes.axvline(0, color="black", linewidth=0.8, zorder=0)
        axes.set_ylim(len(rows) - 0.4, -0.8)
        add_legend(axes)
    else:
        axes.set_axis_off()
    hidden = len(differing) - len(rows)
    more = f"{number(hidden)} more differ" if hidden else "" if rows else "no time differs"
    below = (runs.sentence("before", "after"), runs.note or more)
    set_titles(axes, "Differences of times", list(map(capitalized, below)))
    return axes


def _judge(row: dict[str, Any]) -> str:
    """Return whether a time is better or worse; times that one run has only are, too."""
    if row["time_ratio"] is None:
        return WORSE if row["difference_ns"] > 0 else BETTER
    return change(row["time_ratio"], LESS)


def _row_text(row: dict[str, Any]) -> str:
    """Return what differs, and its times before and after."""
    times = f"{coarse_duration(row['left_ns'])} → {coarse_duration(row['right_ns'])}"
    ratio = "" if row["time_ratio"] is None else f", × {ratio_text(row['time_ratio'])}"
    text = f"{times}{ratio}".replace(" ", NO_BREAK)
    return clean(f"{row['time']} {row['place']}".strip()) + f": {text}"
