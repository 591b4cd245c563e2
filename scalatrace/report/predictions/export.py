"""`export`: what a simulator's format took from a trace, and what is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.predictions.columns import ACCOUNT
from scalatrace.report.style import DIM, nbytes, text_table

__all__ = ["ExportReporter"]

_STYLES = {"kept": "", "lowered": "yellow", "lost": "red"}


class ExportReporter:
    """Shows the account of an export.

    Args:
        facts: "output", "format", "bytes"; "account" (rows of operation, outcome, treatment, calls, bytes).
        notes: limits of the result.
    """

    def __init__(self, facts: dict[str, Any], notes: Sequence[str] = ()) -> None:
        self.facts, self.notes = facts, list(notes)

    def render(self, console: Console) -> None:
        """Print the table, if there is one, and the size."""
        account = self.facts["account"]
        if account:
            rows = (
                {
                    **row,
                    "operation": row["operation"].removeprefix("MPI_"),
                    "outcome": Text(row["outcome"], style=_STYLES[row["outcome"]]),
                }
                for row in account
            )
            console.print(text_table(ACCOUNT, rows))
        console.print(Text(f"{clean(self.facts['output'])}: {nbytes(self.facts['bytes'])}", style="bold"))
        for note in self.notes:
            console.print(Text(f"note: {clean(note)}", style=DIM), soft_wrap=True)
