"""`extrapolate`, `check`: results, dropped calls, timing models, checks of formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from scalatrace.escapes import clean
from scalatrace.report.columns import CHECKS, FITTED_TIMES, LOSSES
from scalatrace.report.style import estimate, text_table
from scalatrace.report.tables import Row

__all__ = ["CheckReporter", "ExtrapolationReporter", "MatchingReporter", "SuggestionReporter"]

MAX_SIZES_SHOWN = 3
"""Sizes without a trace that are shown with their reason."""


MAX_REASONS_SHOWN = 5
"""Reasons for which calls are not proved that are shown."""


class ExtrapolationReporter:
    """Prints the facts of a result: a trace or formulas, and what lossy extrapolation dropped."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print grid, result, timing models if they were asked for, and losses."""
        facts = self.facts
        if "evidence" in facts:
            console.print(f"grid: {facts['evidence']}")
        if facts.get("check"):
            console.print(f"check: {clean(facts['check'])}")
        if facts.get("matching"):
            console.print(f"matching: {clean(facts['matching'])}")
        for name in facts.get("untried", ()):
            console.print(f"warning: {name} was the same in all traces: what follows from it is a guess")
        if "ranks" in facts:
            events = "uncounted" if facts["events"] is None else f"{facts['events']:,}"
            console.print(
                f"{facts['output']}: {facts['ranks']:,} ranks ({facts['grid']}), {events} events, "
                f"{facts['nodes']} nodes, {facts['bytes']:,} bytes"
            )
            if "report" in facts:
                console.print(f"{facts['report']}: {facts['report_bytes']:,} bytes")
            self._times(console, facts.get("times", ()))
            if "timing" in facts:
                self._timing(console, facts["timing"])
        else:
            console.print(f"{facts['output']}: formulas, {facts['bytes']:,} bytes")
        for warning in facts.get("warnings", ()):
            console.print(f"warning: {clean(warning)}")
        if "losses" in facts:
            self._losses(console, facts["losses"])

    def _times(self, console: Console, times: Sequence[Row]) -> None:
        """Print the mean time per rank between and inside calls, with its interval."""
        texts = []
        for row in times:
            where = "inside" if row["stat"] == "comm_ns" else "between"
            texts.append(f"{where} calls {estimate(row['mean_ns'], row['low_ns'], row['high_ns'])}")
        if texts:
            console.print(f"time per rank: {', '.join(texts)}")

    def _timing(self, console: Console, timing: Sequence[Row]) -> None:
        """Print a line per call site and kind of time."""
        rows = (
            {
                **row,
                "call": _call(row),
                "prediction": estimate(row["prediction"], row["low"], row["high"]),
                "slowest": estimate(row["slowest"], row["slowest_low"], row["slowest_high"]),
            }
            for row in timing
        )
        console.print(text_table(FITTED_TIMES, rows))

    def _losses(self, console: Console, losses: Sequence[Row]) -> None:
        """Print the dropped calls of each trace, by call site and reason, and any unmatched call."""
        for loss in losses:
            console.print(
                f"{loss['ranks']} ranks ({loss['grid']}): {loss['dropped']:,} of {loss['events']:,} "
                f"events dropped ({loss['share']:.2%})"
                + (f", counts of {means:,} are means" if (means := loss["with_mean_counts"]) else "")
            )
            if not loss["calls"]:
                continue
            console.print(text_table(LOSSES, ({**row, "call": _call(row)} for row in loss["calls"])))
        if self.facts.get("alone"):
            console.print(f"The result does not replay: {clean(self.facts['alone'])}")
        elif not self.facts.get("checked", True):
            console.print("The result is too large to check that every call has its partner")


class CheckReporter:
    """Prints the differences of each trace from its prediction by the others."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def render(self, console: Console) -> None:
        """Print a line per trace that was left out."""
        console.print(text_table(CHECKS, self.rows))


def _call(row: Row) -> str:
    """Return operation and call site without directories."""
    return f"{row['op']}  {clean(row['site'].rpartition('/')[2])}"


class MatchingReporter:
    """Prints conflicts, and how many sizes are without one."""

    def __init__(self, facts: Row) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print the conflicts, the sizes without a trace, and a line for the others."""
        sizes: Sequence[Row] = self.facts["sizes"]
        for size in sizes:
            if size["conflict"]:
                console.print(f"{_size(size)}: {clean(size['conflict'])}")
        missing = [size for size in sizes if size["undetermined"]]
        for size in missing[:MAX_SIZES_SHOWN]:
            console.print(f"{_size(size)}: not checked: {clean(size['undetermined'])}")
        if len(missing) > MAX_SIZES_SHOWN:
            console.print(f"{len(missing) - MAX_SIZES_SHOWN} more sizes not checked")
        good = [size for size in sizes if not size["conflict"] and not size["undetermined"]]
        if good:
            console.print(f"{self.facts['file']}: all messages and collective calls match on {_sizes(good)}")
        elif not sizes:
            console.print(f"{self.facts['file']}: no size to check: give a larger number (--ranks)")
        if "proof" in self.facts:
            self._proof(console, self.facts["proof"])
        if "hint" in self.facts:
            console.print(self.facts["hint"])

    def _proof(self, console: Console, proof: Row) -> None:
        """Print what was proved, what was not, grouped by the reason, and counterexamples."""
        console.print(f"{proof['line']} ({proof['seconds']:.1f} s)")
        calls: dict[str, list[str]] = {}
        for open_part in proof["open"]:
            if open_part["grid"]:
                params = "".join(f", {name}={value}" for name, value in open_part["params"].items())
                where = f"{open_part['ranks']:,} ranks ({open_part['grid']}{params})"
                console.print(f"wrong on {where}: {clean(open_part['reason'])}")
            else:
                calls.setdefault(open_part["reason"], []).append(open_part["call"])
        for reason, sites in list(calls.items())[:MAX_REASONS_SHOWN]:
            more = f" and {len(sites) - 1} more" if len(sites) > 1 else ""
            console.print(f"not proved: {clean(sites[0])}{more}: {clean(reason)}")
        if len(calls) > MAX_REASONS_SHOWN:
            console.print(f"{len(calls) - MAX_REASONS_SHOWN} more reasons (--json)")


def _size(size: Row) -> str:
    return f"{size['ranks']:,} ranks{' (' + size['grid'] + ')' if size['grid'] else ''}"


def _sizes(sizes: Sequence[Row]) -> str:
    if len(sizes) == 1:
        return _size(sizes[0])
    return f"{len(sizes)} sizes from {sizes[0]['ranks']:,} to {sizes[-1]['ranks']:,} ranks"


class SuggestionReporter:
    """Prints the sizes to record next, and why."""

    def __init__(self, facts: Row) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print the reason and a line per size."""
        if self.facts["reason"]:
            console.print(clean(self.facts["reason"].splitlines()[0]))
        for size in self.facts["sizes"]:
            console.print(f"record {size['ranks']} ranks ({size['grid']})")
        if not self.facts["sizes"] and not self.facts["reason"]:
            console.print("The traces determine the result: no further one is needed")
