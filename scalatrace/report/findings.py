"""`diff` and `diff --logs`: differences of two traces, or of walks and flat logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.style import amount, number, ranks
from scalatrace.trace.query.diff import Difference, Statistic
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.verify import Verification
from scalatrace.trace.values.ranklist import RankList

MAX_SHOWN_RANKS = 10
"""Different findings that are printed; the others are counted."""


class DiffReporter:
    """Shows the first difference of each rank; ranks with the same one together."""

    def __init__(self, differences: Sequence[Difference], left: str, right: str) -> None:
        self.differences, self.left, self.right = differences, left, right

    def plain(self) -> dict[str, Any]:
        """Return them as plain data."""
        return {"equal": not self.differences, "differences": [asdict(d) for d in self.differences]}

    def render_names(self, console: Console) -> None:
        """Print which trace `-` and `+` stand for."""
        console.print(Text(f"- {clean(self.left)}\n+ {clean(self.right)}", style="bold"), soft_wrap=True)

    def render(self, console: Console) -> None:
        """Print the differences, or that the traces are equal."""
        if not self.differences:
            console.print(Text("equal", style="bold green"))
            return
        groups = self._groups()
        for where, difference in groups[:MAX_SHOWN_RANKS]:
            place = where if difference.event is None else f"{where}, event {difference.event}"
            console.print(Text(place, style="bold"))
            left, right = (
                (difference.left, difference.left_stats),
                (difference.right, difference.right_stats),
            )
            for mark, (call, stats), style in (("-", left, "red"), ("+", right, "green")):
                text = f"  {mark} {clean(call) or 'no more events'}{clean(_stats(stats))}"
                console.print(Text(text, style=style), soft_wrap=True)
        _more(console, len(groups))

    def _groups(self) -> list[tuple[str, Difference]]:
        """Return each difference once, with the ranks that have it."""
        groups: dict[Any, list[Difference]] = {}
        for difference in self.differences:
            groups.setdefault(replace(difference, rank=None), []).append(difference)
        return [(_ranks(differences), differences[0]) for differences in groups.values()]


MEANINGS = {COMPUTE: "before it", COMM: "in it"}
"""What the tracer's own times are."""


def _stats(stats: Sequence[Statistic]) -> str:
    """Return statistics as text; equal calls share them."""
    if not stats:
        return ""
    shown = [f"{amount(stat.name, stat.mean)} {MEANINGS.get(stat.name, stat.name)}" for stat in stats]
    most = max(stat.calls for stat in stats)
    return f"; {', '.join(shown)}{f' (means of {number(most)} calls)' if most > 1 else ''}"


def _ranks(differences: Sequence[Difference]) -> str:
    differing_ranks = [difference.rank for difference in differences if difference.rank is not None]
    if not differing_ranks:
        return "the traces"
    return f"rank{'s' if len(differing_ranks) > 1 else ''} {ranks(RankList(differing_ranks))}"


class VerifyReporter:
    """Says whether every walk equals its flat log."""

    def __init__(self, verification: Verification) -> None:
        self.verification = verification

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        v = self.verification
        problems = [asdict(problem) for problem in v.problems]
        facts = {"ok": v.ok, "ranks": v.nranks, "events": v.nevents, "summarised": list(v.summarised)}
        return {**facts, "problems": problems}

    def render(self, console: Console) -> None:
        """Print one line when all is well, else the problems."""
        v = self.verification
        if v.ok:
            verdict = "lossless" if not v.summarised else "equal but for what was not kept"
            equality = "the logs begin with the walks" if v.prefix else "walk and flat log are equal"
            text = f"{verdict}: {number(v.nevents)} events of {v.nranks} ranks, {equality}"
            console.print(Text(text, style="bold green"))
            if v.summarised:
                console.print(Text(f"not compared: {clean(', '.join(v.summarised))}"), soft_wrap=True)
            return
        for problem in v.problems[:MAX_SHOWN_RANKS]:
            console.print(Text("\n".join(map(clean, str(problem).split("\n"))), style="red"), soft_wrap=True)
        _more(console, len(v.problems))


def _more(console: Console, n: int) -> None:
    if n > MAX_SHOWN_RANKS:
        console.print(Text(f"… and {n - MAX_SHOWN_RANKS} more"))
