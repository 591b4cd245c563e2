"""`study`: predicted times of many settings, as a table of what differs between them, and as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.errors import UsageError
from scalatrace.escapes import clean
from scalatrace.report.curves import Curves, draw_curves
from scalatrace.report.predictions.columns import STUDY
from scalatrace.report.style import text_table
from scalatrace.report.tables import CommandTable, TableColumn

__all__ = ["StudyReporter"]

SETTINGS = ("trace", "platform", "placement", "mpi", "network")
"""Texts that settings may differ in."""


class StudyReporter:
    """Shows the rows of a study.

    Args:
        rows: settings with `time_ns`, `low_ns`, `high_ns` and `ratio`.
        errors: settings that cannot be simulated, with `error`.
        names: of parameters and factors, which are columns too.
    """

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], errors: Sequence[Mapping[str, Any]], names: Sequence[str]
    ) -> None:
        self.rows, self.errors, self.names = rows, errors, tuple(names)

    @property
    def table(self) -> CommandTable:
        """The columns of all rows, parameters and factors included."""
        position = next(i for i, column in enumerate(STUDY.columns) if column.name == "runs")
        named = tuple(TableColumn(name, name, "ratio", shown="{:g}".format) for name in self.names)
        return CommandTable(STUDY.row, (*STUDY.columns[:position], *named, *STUDY.columns[position:]))

    def render(self, console: Console) -> None:
        """Print the settings, without columns that are equal for all, and what failed."""
        same = [name for name in (*SETTINGS, "ranks", *self.names) if not self._differs(name)]
        table = self.table.without(*same)
        if all(row["runs"] == 1 for row in self.rows):
            table = table.without("runs", "low_ns", "high_ns")
        if self.rows:
            console.print(text_table(table, self.rows))
        for error in self.errors:
            setting = ", ".join(str(error[name]) for name in (*SETTINGS, *self.names) if error.get(name))
            console.print(Text(f"{clean(setting)}: {clean(error['error'])}", style="yellow"), soft_wrap=True)

    def _differs(self, name: str) -> bool:
        return len({row[name] for row in self.rows}) > 1

    def draw(self, path: Path) -> None:
        """Draw seconds over the number that varies: ranks, else a parameter or factor; a curve for each rest.

        Raises:
            UsageError: no number varies.
        """
        numbers = [name for name in ("ranks", *self.names) if self._differs(name)]
        if not numbers:
            raise UsageError("--plot needs settings with several numbers of ranks, parameters or factors")
        over, *others = numbers
        curves: Curves = {}
        for row in self.rows:
            texts = [str(row[name]) or "as given" for name in SETTINGS if self._differs(name)]
            texts += [f"{name} {row[name]:g}" for name in others]
            points = curves.setdefault(", ".join(texts) or "predicted time", {})
            points[row[over]] = (row["time_ns"] / 1e9, row["low_ns"] / 1e9, row["high_ns"] / 1e9)
        draw_curves(path, curves, "predicted time", over)
