"""Programs: functions that are not recorded (`check`), and call sites that have names (`resolve`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.columns import FUNCTIONS, MODULES
from scalatrace.report.style import text_table

__all__ = ["ModulesReporter", "ProgramReporter"]


class ProgramReporter:
    """Prints the facts of a program."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print its MPI, how many of its functions are recorded, and the others."""
        facts, program = self.facts, clean(self.facts["program"])
        if facts["obstacle"]:
            console.print(f"{program} {facts['obstacle']}: no library can be preloaded, nothing is recorded")
            return
        if not facts["library"]:
            console.print(f"{program} is linked to no MPI; what mpi4py loads when it runs is recorded")
            return
        console.print(f"{program} uses {clean(facts['library'])} ({facts['flavour']})", soft_wrap=True)
        console.print(
            f"MPI functions: {facts['recorded']} recorded as events, {facts['local']} that send nothing, "
            f"{len(facts['problems'])} not recorded"
        )
        if facts["problems"]:
            console.print(text_table(FUNCTIONS, facts["problems"]))


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
