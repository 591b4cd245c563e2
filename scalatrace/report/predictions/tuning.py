"""`tune`: times of collectives by default and by the best algorithm, the saving, how to use the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.report.predictions.columns import TUNED
from scalatrace.report.style import DIM, duration, fit_columns, more_columns, number, percent, text_table

SHARED = "ranks share cores here: times are of such a run, and so are the rules"


class TuneReporter:
    """Shows the facts of a tuning: `points` (rows of TUNED), times of a rank, `file` and `usage`."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print the table, the saving, and how programs use the file."""
        f = self.facts
        title = f"{f['mpi']} on {number(f['nprocs'])} ranks, measured for {f['seconds']:.0f} s"
        table, hidden = fit_columns(TUNED, console)
        console.print(text_table(table, f["points"], title=title))
        if hidden:
            console.print(Text(more_columns(hidden), style=DIM))
        if f["shares_cores"]:
            console.print(Text(SHARED, style=DIM), soft_wrap=True)
        for part in f["left_out"]:
            text = f"left out: {number(part['calls'])} MPI_{part['op']}, {part['reason']}"
            console.print(Text(text, style=DIM))
        reasons = {(part["op"], part["algorithm"], part["size"]): part["reason"] for part in f["rejected"]}
        for (op, algorithm, size), reason in reasons.items():
            text = f"not usable for all calls: {algorithm} of {op} on {size} ranks: {reason}"
            console.print(Text(text, style=DIM), soft_wrap=True)
        self._saving(console)

    def _saving(self, console: Console) -> None:
        f = self.facts
        whole = f["collective_ns"]
        if f["file"] is None:
            line = f"nothing is gained significantly in {duration(whole)} of collectives: no rules written"
            console.print(Text(line, style="bold"))
            return
        ends = f"{percent(f['saving_low_ns'], whole)} to {percent(f['saving_high_ns'], whole)}"
        console.print(
            Text(
                f"expected saving: {duration(f['saving_ns'])} of {duration(whole)} in collectives of a rank, "
                f"{percent(f['saving_ns'], whole)} ({f['level']:.0%} interval: {ends})",
                style="bold",
            ),
            soft_wrap=True,
        )
        console.print(f"rules written: {f['file']}", soft_wrap=True, markup=False)
        by_options, by_variables = f["usage"]
        console.print(f"use them:  {by_options}", soft_wrap=True, markup=False)
        console.print(f"or:        {by_variables}", soft_wrap=True, markup=False)
        replay = f"scalatrace replay {f['trace']}"
        console.print(
            f"check by replays:  mpiexec -n {f['nprocs']} {replay}\n"
            f"against            {by_options.replace('PROGRAM', replay)}",
            soft_wrap=True, markup=False,
        )  # fmt: skip
