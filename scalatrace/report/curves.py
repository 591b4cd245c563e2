"""`replay --sweep`: replay time over the computation factor, a curve per message size, as table and plot."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from rich.console import Console

from scalatrace.errors import UsageError
from scalatrace.files import write_file
from scalatrace.report.columns import SETTINGS
from scalatrace.report.style import text_table
from scalatrace.report.tables import CommandTable, Row, TableColumn

FORMATS = (".svg", ".png", ".pdf")


def check_plot(path: Path) -> None:
    """Check that a plot can be drawn there.

    Raises:
        UsageError: its name has another ending than those of FORMATS, or matplotlib is missing.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"--plot {path}: unknown format; give a name that ends with {', '.join(FORMATS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib: pip install 'scalatrace[plot]'")


Curves = dict[str, dict[float, tuple[float, float, float]]]
"""Name -> x -> seconds: median, minimum, maximum."""


def draw_curves(path: Path, curves: Curves, title: str, over: str) -> None:
    """Write a plot of seconds over something; bars reach from the least to the most.

    Raises:
        UsageError: as `check_plot`.
        ScalatraceError: the file cannot be written.
    """
    check_plot(path)
    import matplotlib  # type: ignore[import-not-found,unused-ignore]

    matplotlib.use("Agg")
    from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, points in curves.items():
        xs = sorted(points)
        middle = [points[x][0] for x in xs]
        down = [points[x][0] - points[x][1] for x in xs]
        up = [points[x][2] - points[x][0] for x in xs]
        axes.errorbar(xs, middle, (down, up), label=name, marker="o", capsize=3)
    axes.set_xlabel(over)
    axes.set_ylabel("seconds")
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.legend()
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:])
    pyplot.close(figure)
    write_file(path, drawn.getvalue())


class SweepReporter:
    """Shows the rows of a sweep."""

    def __init__(self, rows: Sequence[Row], title: str) -> None:
        self.rows, self.title = rows, title

    def render(self, console: Console) -> None:
        """Print a table: a line per length of the computation, a column per curve."""
        curves = self._curves()
        names = (TableColumn(name, name, "s") for name in curves)
        table = CommandTable("length of the computation", (*SETTINGS.only("compute_scale").columns, *names))
        medians: dict[float, dict[str, float]] = {}
        for name, points in curves.items():
            for scale, row in points.items():
                medians.setdefault(scale, {})[name] = row["median_s"]
        rows = (
            {"compute_scale": scale, **dict.fromkeys(curves), **medians[scale]} for scale in sorted(medians)
        )
        console.print(text_table(table, rows))

    def draw(self, path: Path) -> None:
        """Write the plot; points are medians, bars reach from the least to the most."""
        curves: Curves = {
            name: {100 * x: (row["median_s"], row["least_s"], row["most_s"]) for x, row in points.items()}
            for name, points in self._curves().items()
        }
        draw_curves(path, curves, self.title, "computation in % of the recorded")

    def _curves(self) -> dict[str, dict[float, Row]]:
        several = len({row["collectives"] for row in self.rows}) > 1
        result: dict[str, dict[float, Row]] = {}
        for row in self.rows:
            name = f"bytes x {row['bytes_scale']:g}"
            if several:
                name += f", {row['collectives']} collectives"
            result.setdefault(name, {})[row["compute_scale"]] = row
        return result
