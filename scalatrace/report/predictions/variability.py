"""`variability`: the slowest rank of each interval, recorded and on more ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.report.costs.phases import phase_line
from scalatrace.report.predictions.columns import INTERVALS, SLOWEST
from scalatrace.report.style import (
    DIM,
    coarse,
    coarse_duration,
    coarse_percent,
    interval_ends,
    number,
    print_more,
    text_table,
)
from scalatrace.stats.interval_width import is_vague

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
        console.print(
            Text(f"computation between synchronising calls of {number(nranks)} ranks", style="bold")
        )
        over = ((interval["slowest_ns"] - interval["mean_ns"], interval["mean_ns"]) for interval in intervals)
        rows = ({**interval, "over_mean": share} for interval, share in zip(intervals, over, strict=True))
        console.print(text_table(INTERVALS, islice(rows, INTERVALS_SHOWN)))
        print_more(console, len(intervals) - INTERVALS_SHOWN)
        self._fits(console, intervals[0])
        console.print(text_table(SLOWEST, self._predictions()))
        if any(interval["low_ns"] == interval["high_ns"] for interval in self.data["predictions"]):
            note = f"{ONE_VALUE}: all draws gave it, such as the largest maximum; no interval is estimated"
            console.print(Text(note, style=DIM), soft_wrap=True)
        spread = self.data["spread"]
        share = "not known" if spread is None else f"{coarse_percent(spread)} of their mean"
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
        if interval["fits_agree"]:
            console.print(Text("both fits agree on the tail", style=DIM))
        else:
            text = (
                "the fits disagree on the type: do not trust pooled, inter-node and intra-node; use resampled"
            )
            console.print(Text(text, style="yellow"), soft_wrap=True)

    def _predictions(self) -> Iterator[dict[str, Any]]:
        """Yield the recorded computation, then the predictions; numbers with wide intervals are left out."""
        recorded = self.data["total_ns"]
        unknown = dict.fromkeys(("low_ns", "high_ns", "over_recorded"), "")
        yield {"method": "recorded", "nranks": self.data["nranks"], "median_ns": recorded, **unknown}
        for prediction in self.data["predictions"]:
            low, high = prediction["low_ns"], prediction["high_ns"]
            vague = is_vague(low, high)
            over = (
                f"{coarse(100 * (prediction['median_ns'] / recorded - 1)):+.3g} %"
                if recorded and not vague
                else "-"
            )
            ends = (ONE_VALUE, "") if low == high else interval_ends(low, high)
            times = {
                "median_ns": None if vague else prediction["median_ns"],
                "low_ns": ends[0],
                "high_ns": ends[1],
            }
            yield {**prediction, **times, "over_recorded": over}
