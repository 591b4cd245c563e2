"""Plots of rows: grouped bars, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from benchmarks.reproduction.figure import Rows, number
from scalatrace.files import write_file
from scalatrace.report.curves import Curves, check_plot, draw_curves

__all__ = ["bars", "curve"]


def bars(
    path: Path,
    rows: Rows,
    columns: Mapping[str, str],
    title: str,
    unit: str,
    *,
    log: bool = False,
    labels: Sequence[str] = ("program", "ranks"),
) -> None:
    """Draw a group of bars per row.

    Args:
        columns: column -> name in the legend.
        labels: columns whose values stand below the group.

    Raises:
        UsageError: matplotlib is missing.
    """
    check_plot(path)
    import matplotlib  # type: ignore[import-not-found,unused-ignore]

    matplotlib.use("Agg")
    from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]

    matplotlib.rcParams["svg.fonttype"] = "none"  # text as text: a tenth of the bytes
    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    width = 0.8 / len(columns)
    for i, (column, name) in enumerate(columns.items()):
        heights = [number(row[column]) or 0.0 for row in rows]
        axes.bar([x + i * width for x in range(len(rows))], heights, width, label=name)
    middle = width * (len(columns) - 1) / 2
    texts = ["\n".join(row[label] for label in labels) for row in rows]
    axes.set_xticks([x + middle for x in range(len(rows))], texts, fontsize="small")
    if log:
        axes.set_yscale("log")
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.legend(fontsize="small", loc="upper left")
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], metadata={"Date": None})
    pyplot.close(figure)
    write_file(path, drawn.getvalue())


def curve(path: Path, rows: Rows, x: str, columns: Mapping[str, str], title: str) -> None:
    """Draw a curve of seconds per column over the numbers of column `x`. Raises UsageError."""
    curves: Curves = {}
    for row in rows:
        for column, name in columns.items():
            at, spent = number(row[x]), number(row[column])
            if at is not None and spent is not None:
                curves.setdefault(name, {})[at] = (spent, spent, spent)
    draw_curves(path, curves, title, x.replace("_pct", ", %"))
