"""`variability`: the slowest rank of each interval, recorded and on more ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.report.costs.phases import phase_line
from scalatrace.report.style import (
    DIM,
    SITE,
    coarse,
    coarse_duration,
    coarse_percent,
    duration,
    interval_ends,
    is_vague,
    number,
    op_text,
    short_site,
    table,
)

__all__ = ["VariabilityReporter"]

INTERVALS_SHOWN = 8

ONE_VALUE = "one value"
"""Text in place of an interval of width 0."""


class VariabilityReporter:
    """Shows the data of `variability`: `nranks`, `spread`, `intervals` and `total`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def render(self, console: Console) -> None:
        """Print the intervals, the fits of the most expensive one, and the predictions."""
        nranks, intervals = self.data["nranks"], self.data["intervals"]
        numbers = ("intervals", "mean", "slowest", "over mean")
        rows = table("ends with", "call site", *numbers, right=numbers)
        for each in intervals[:INTERVALS_SHOWN]:
            over = coarse_percent(each["slowest_ns"] - each["mean_ns"], each["mean_ns"])
            times = (
                number(each["count"]),
                duration(each["mean_ns"]),
                coarse_duration(each["slowest_ns"]),
                over,
            )
            rows.add_row(op_text(each["op"]), Text(short_site(each["site"]), style=SITE), *times)
        console.print(
            Text(f"computation between synchronising calls of {number(nranks)} ranks", style="bold")
        )
        console.print(rows)
        if (more := len(intervals) - INTERVALS_SHOWN) > 0:
            console.print(Text(f"… {more} more", style=DIM))
        self._fits(console, intervals[0])
        console.print(self._predictions())
        if any(each["low_ns"] == each["high_ns"] for each in self.data["predictions"]):
            note = f"{ONE_VALUE}: all draws gave it, such as the largest maximum; no interval is estimated"
            console.print(Text(note, style=DIM), soft_wrap=True)
        spread = self.data["spread"]
        share = "not known" if spread is None else f"{coarse_percent(spread, 1)} of their mean"
        console.print(Text(f"standard deviation of the ranks' totals: {share}", style=DIM))
        if line := phase_line(self.data.get("phases"), "the computation above"):
            console.print(Text(line, style=DIM), soft_wrap=True)

    def _fits(self, console: Console, interval: Mapping[str, Any]) -> None:
        if not interval["fits"]:
            few = f"{number(interval['count'])} of at least {self.data['min_fitted_intervals']} intervals"
            text = f"maxima of {interval['op']}: no distribution is fitted to {few}; they are resampled"
            console.print(Text(text), soft_wrap=True)
            return
        shown = [
            f"{name.upper()}: type {fit['kind']}, shape {fit['shape']:.2f}, "
            f"location {coarse_duration(fit['location'])}, scale {coarse_duration(fit['scale'])}"
            for name, fit in interval["fits"].items()
        ]
        console.print(Text(f"maxima of {interval['op']}, GEV by {'; '.join(shown)}"), soft_wrap=True)

    def _predictions(self) -> Any:
        recorded = self.data["total_ns"]
        numbers = ("ranks", "computation of the slowest", "95 % from", "to", "over recorded")
        rows = table("method", *numbers, right=numbers)
        rows.add_row("recorded", number(self.data["nranks"]), coarse_duration(recorded), "", "", "")
        for each in self.data["predictions"]:
            low, high = each["low_ns"], each["high_ns"]
            vague = is_vague(low, high)
            median = "-" if vague else coarse_duration(each["median_ns"])
            over = (
                f"{coarse(100 * (each['median_ns'] / recorded - 1)):+.3g} %"
                if recorded and not vague
                else "-"
            )
            ends = (ONE_VALUE, "") if low == high else interval_ends(low, high)
            rows.add_row(each["method"], number(each["nranks"]), median, *ends, over)
        return rows
