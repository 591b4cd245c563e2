"""`doctor`: a list of checks with results and, for failed ones, hints."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.style import DIM

Check = tuple[str, bool, str, str]
"""Name, whether it passed, detail, hint if it failed."""


class ChecksReporter:
    """Prints a line for each check."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self.checks = checks

    def render(self, console: Console) -> None:
        """Print them."""
        width = max((len(name) for name, *_ in self.checks), default=0)
        for name, ok, detail, hint in self.checks:
            mark = ("✓ ", "green") if ok else ("✗ ", "bold red")
            line = Text.assemble(mark, f"{clean(name):<{width}}  ", (clean(detail), DIM if ok else "red"))
            console.print(line, soft_wrap=True)
            if hint and not ok:
                console.print(Text(f"  {'':<{width}}  → {clean(hint)}"), soft_wrap=True)
