"""Axes, titles, units of time, and heat maps: what all plots of a notebook share.

matplotlib is an extra: pip install 'scalatrace[plot]'. Texts of a trace are no formulas: `$` stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.escapes import clean
from scalatrace.operations import Category
from scalatrace.report.style import number
from scalatrace.spelling import did_you_mean
from scalatrace.trace.oversubscription import oversubscription_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from scalatrace.trace.model.trace import Trace

__all__ = [
    "COMPUTE_COLOUR", "NO_VALUE_COLOUR", "TimeUnit", "add_legend", "capitalized", "check_choice", "colour_of",
    "draw_cells", "new_axes", "number_cells", "rank_count", "separate_cells", "set_titles",
    "shared_cores_note", "size_points", "time_unit", "write_values",
]  # fmt: skip

TITLE_CHARS = 68
"""Characters of a line below the title."""

MAX_TICKED, MAX_NUMBERS = 16, 6
"""Cells along a side up to which each has its number, and numbers of more cells, about."""

MAX_SEPARATED, MAX_VALUED = 64, 8
"""Cells along a side up to which lines separate them, and up to which a cell has room for its value."""

MIN_LIGHT_SHADE = 0.55
"""Part of the colour scale from which on a text on it is dark."""

NO_VALUE_COLOUR = "0.93"

LEGEND_POINTS, LEGEND_COLUMNS = 34, 4
"""Distance of a legend from the Axes, and entries in a line of it."""

COLOURS = {
    Category.SEND: "tab:green",
    Category.RECV: "tab:blue",
    Category.SENDRECV: "tab:cyan",
    Category.COMPLETION: "tab:orange",
    Category.COLLECTIVE: "tab:purple",
    Category.NEIGHBOUR: "tab:pink",
    Category.ONE_SIDED: "tab:red",
}
OTHER_COLOUR, COMPUTE_COLOUR = "tab:gray", "0.8"


class TimeUnit(NamedTuple):
    """A unit of time, and its length in ns."""

    name: str
    ns: float


UNITS = (TimeUnit("s", 1e9), TimeUnit("ms", 1e6), TimeUnit("µs", 1e3), TimeUnit("ns", 1.0))


def time_unit(longest_ns: float) -> TimeUnit:
    """Return the unit in which the longest time of a plot is 1 or more."""
    return next((unit for unit in UNITS if longest_ns >= unit.ns), UNITS[-1])


def new_axes(ax: Axes | None, height_inches: float = 0.0, width_inches: float = 0.0) -> Axes:
    """Return the Axes to draw into.

    Args:
        ax: given Axes; None: those of a new figure.
        height_inches: of a new figure; 0: the default.
        width_inches: of a new figure, at least; 0: the default.

    Raises:
        UsageError: matplotlib is missing.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'scalatrace[plot]'") from None
    axes: Axes
    figure, axes = pyplot.subplots(layout="constrained")
    if height_inches:
        figure.set_figheight(height_inches)
    figure.set_figwidth(max(figure.get_figwidth(), width_inches))
    return axes


def size_points(axes: Axes) -> tuple[float, float]:
    """Return width and height of the Axes in points, before a layout leaves room for texts."""
    box, scale = axes.get_window_extent(), 72 / axes.figure.dpi
    return box.width * scale, box.height * scale


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise UsageError unless a value is one of the choices."""
    if value not in choices:
        hint = did_you_mean(value, choices)
        raise UsageError(f"{name}={value!r}: give {', '.join(map(repr, choices))}{hint}")


def set_titles(axes: Axes, title: str, below: Sequence[str] = (), pad: float | None = None) -> None:
    """Set the title, and lines below it that are broken between words, not cut off.

    Args:
        pad: distance from the Axes, in points; None: the default.
    """
    lines = [part for text in below if text for part in wrap(clean(text), TITLE_CHARS)]
    axes.set_title("\n".join((title, *lines)), fontsize="medium", pad=pad, parse_math=False)


def colour_of(category: str) -> str:
    """Return the colour of a category of operations."""
    return COLOURS.get(Category(category), OTHER_COLOUR)


def add_legend(axes: Axes, below_points: float = LEGEND_POINTS) -> None:
    """Add a legend below the Axes with an entry for each label that is drawn.

    Args:
        below_points: its distance from the Axes, which has room for numbers and the name of the axis.
    """
    from matplotlib.transforms import ScaledTranslation

    handles, labels = axes.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    # A distance in points: a layout changes the height of the Axes.
    below = ScaledTranslation(0, -below_points / 72, axes.figure.dpi_scale_trans)
    if named:
        axes.legend(
            named.values(), named.keys(), loc="upper center", bbox_to_anchor=(0.5, 0),
            bbox_transform=axes.transAxes + below, ncol=min(len(named), LEGEND_COLUMNS), frameon=False,
        )  # fmt: skip


def shared_cores_note(trace: Trace) -> str:
    """Return a line below the title of times that contain waiting for cores; "": they do not."""
    return "Ranks shared cores: times contain waiting for cores" if oversubscription_note(trace.meta) else ""


def rank_count(count: int) -> str:
    """Return a number of ranks as text."""
    return f"{number(count)} {'rank' if count == 1 else 'ranks'}"


def capitalized(text: str) -> str:
    """Return a text whose first letter is upper case; names such as MPI stay as they are."""
    return text[:1].upper() + text[1:]


def number_cells(axes: Axes, *sizes: int) -> None:
    """Number the columns and rows of a heat map from 0: all of few, some of many.

    Args:
        sizes: columns and rows.
    """
    from matplotlib.ticker import MaxNLocator

    for axis, size in zip((axes.xaxis, axes.yaxis), sizes, strict=True):
        if size <= MAX_TICKED:
            axis.set_ticks(range(size))
        else:
            axis.set_major_locator(MaxNLocator(MAX_NUMBERS, integer=True))
            axis.set_major_formatter(lambda value, _: number(value))


def draw_cells(
    axes: Axes,
    table: Floats,
    label: str,
    extent: tuple[float, float, float, float] | None = None,
    tolerance: float = 0.0,
    max_linear_ratio: float = inf,
) -> bool:
    """Draw a heat map with a bar of its colours; cells without a value are grey.

    Cells that all have the same value get the middle of the scale and no bar: the caller states the value.

    Args:
        table: [rows, columns]; NaN: no value.
        label: of the bar of colours: quantity and unit.
        extent: left, right, bottom and top; None: numbers of columns and rows.
        tolerance: part of the largest value by which values that count as equal differ.
        max_linear_ratio: largest over smallest value up to which the scale is linear, else logarithmic.

    Returns:
        Whether the values differ.
    """
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    known = table[~np.isnan(table)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    differ = high - low > tolerance * high
    is_linear = low <= 0 or high <= max_linear_ratio * low
    norm = Normalize(low, high) if is_linear else LogNorm(low, high)
    if not differ:
        norm = Normalize(low - (high or 1), high + (high or 1))
    image = axes.imshow(
        np.ma.masked_invalid(table), norm=norm, extent=extent, interpolation="nearest", aspect="equal",
        cmap=colormaps["viridis"].with_extremes(bad=NO_VALUE_COLOUR),
    )  # fmt: skip
    if differ:
        is_flat = table.shape[1] > 2 * table.shape[0]
        where: Literal["horizontal", "vertical"] = "horizontal" if is_flat else "vertical"
        axes.figure.colorbar(image, ax=axes, label=label, orientation=where)
    separate_cells(axes, image)
    return differ


def separate_cells(axes: Axes, image: AxesImage) -> None:
    """Draw white lines between the cells of an image, unless there are too many."""
    left, right, bottom, top = image.get_extent()
    nrows, ncolumns = image.get_size()
    sides = ((axes.xaxis, ncolumns, left, right), (axes.yaxis, nrows, bottom, top))
    if max(nrows, ncolumns) <= MAX_SEPARATED:
        for axis, count, start, end in sides:
            axis.set_ticks(np.linspace(start, end, count + 1)[1:-1], minor=True)
        axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)


def write_values(axes: Axes, table: Floats, text: Callable[[int, int], str]) -> None:
    """Write a text into each cell with a value of a heat map that has room for it.

    Args:
        text: gives that of a row and a column.
    """
    if max(table.shape) > MAX_VALUED:
        return
    shades = np.asarray(axes.images[0].norm(table))
    for row, column in np.argwhere(~np.isnan(table)).tolist():
        is_light = shades[row, column] >= MIN_LIGHT_SHADE
        axes.text(
            column, row, text(row, column), ha="center", va="center", fontsize="small",
            color="black" if is_light else "white", parse_math=False,
        )  # fmt: skip
