"""`doctor`: a list of checks with results and, for what failed or is missing, hints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.style import DIM


class DoctorCheck(NamedTuple):
    """Name, whether it passed, detail, hint if it failed, whether it may be missing."""

    name: str
    ok: bool
    detail: str
    hint: str
    optional: bool


class ChecksReporter:
    """Prints a line for each check."""

    def __init__(self, checks: Sequence[DoctorCheck]) -> None:
        self.checks = checks

    def render(self, console: Console) -> None:
        """Print them."""
        width = max((len(check.name) for check in self.checks), default=0)
        for name, ok, detail, hint, optional in self.checks:
            mark, style = ("✓ ", DIM) if ok else ("– ", "yellow") if optional else ("✗ ", "red")
            line = Text.assemble(
                (mark, "green" if ok else style), f"{clean(name):<{width}}  ", (clean(detail), style)
            )
            console.print(line, soft_wrap=True)
            if hint and not ok:
                console.print(Text(f"  {'':<{width}}  → {clean(hint)}"), soft_wrap=True)
