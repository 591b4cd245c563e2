"""`replay`: time, accuracy of the waits, calls per operation, and differences from the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.report.columns import REPLAYED, UNEQUAL
from scalatrace.report.style import DIM, duration, number, percent, text_table


class ReplayReporter:
    """Shows the facts of a replay: the fields of its summary, `recorded_s`, `engine`, what a comparison says.

    `facts["unequal"]` is None when nothing was compared, else a list of rows
    {op, communicator, ranks, calls_recorded, calls_replayed, bytes_recorded, bytes_replayed}.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print the times, the calls per operation, and what differs."""
        f = self.facts
        console.print(Text(f"replayed on {f['nprocs']} ranks in {duration(f['wall_s'] * 1e9)}", style="bold"))
        if f["recorded_s"] is not None:
            ratio = percent(f["wall_s"], f["recorded_s"])
            shown = duration(f["recorded_s"] * 1e9)
            console.print(
                Text(f"recorded: {shown} per rank on average; the replay took {ratio} of it", style=DIM)
            )
        self._engine(console)
        if f.get("received"):
            text = f"{number(f['received'])} messages came to receivers drawn from histograms"
            console.print(Text(text, style=DIM))
        if f["left"]:
            console.print(Text(f"{number(f['left'])} requests were never completed, as recorded", style=DIM))
        self._calls(console)
        self._comparison(console)

    def _engine(self, console: Console) -> None:
        f = self.facts
        ncalls = sum(f["calls"].values()) / f["nprocs"]
        per_call = duration(f["engine_s"] * 1e9 / max(1, ncalls))
        line = f"per rank on average: {number(round(ncalls))} calls"
        if f["engine_s"]:
            line += f", between two of them {per_call} of the {f['engine']} engine"
        if f["computed_s"]:
            waited, late = duration(f["computed_s"] * 1e9), duration(f["late_s"] * 1e9)
            line += f"; {waited} of computation waited out; calls began {late} late, all together"
        console.print(Text(line, style=DIM))

    def _calls(self, console: Console) -> None:
        rows = []
        for row in self.rows():
            seconds = row["mpi_s"] or 0.0
            rows.append({**row, "mpi_s": seconds, "mean_s": seconds / row["calls"]})
        console.print(text_table(REPLAYED, rows))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield operations with the columns of REPLAYED."""
        seconds, sent = self.facts["mpi_s"], self.facts["sent"]
        for op, calls in self.facts["calls"].items():
            yield {"operation": op, "calls": calls, "bytes_sent": sent.get(op, 0), "mpi_s": seconds.get(op)}

    def _comparison(self, console: Console) -> None:
        unequal = self.facts["unequal"]
        if unequal is None:
            return
        if not unequal:
            text = "verified: calls and bytes of every operation, communicator and rank are the trace's"
            console.print(Text(text, style="bold green"))
            return
        console.print(text_table(UNEQUAL, unequal))
