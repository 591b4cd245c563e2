"""`resolve`: what was found of each program and library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.report.columns import MODULES
from scalatrace.report.style import text_table


class ModulesReporter:
    """Shows for each module how many of its frames have a source line, or the name of a function."""

    def __init__(self, facts: Sequence[Mapping[str, Any]]) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print the table, or that there is nothing to resolve."""
        if not self.facts:
            console.print(Text("no native call sites: nothing to resolve"))
            return
        console.print(text_table(MODULES, self.facts))
