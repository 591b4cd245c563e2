"""`calibrate`: parameters per segment of message sizes, and how well they predict the measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.report.predictions.columns import MEASURED_COLLECTIVES, SEGMENTS
from scalatrace.report.style import DIM, duration, number, percent, text_table

_LEVELS = {"memory": "messages within a node", "network": "messages between nodes"}


class CalibrationReporter:
    """Shows a `Calibration` as a dictionary: `platform`, `fits` by level, `collectives`."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts

    def render(self, console: Console) -> None:
        """Print the networks, then the other parameters."""
        platform = self.facts["platform"]
        console.print(Text(platform["description"], style=DIM))
        if platform["doubts"]:
            text = f"warning: {platform['doubts']}: measure again on an idle machine"
            console.print(Text(text, style="yellow"), soft_wrap=True)
        for level, fit in self.facts["fits"].items():
            self._network(console, level, fit)
        console.print(
            f"matching: {platform['matching']['per_entry_ns']:.1f} ns per entry of the queue; "
            f"reduction: {platform['reduce_per_byte_ns']:.3f} ns per byte; "
            f"strided datatypes: {platform['strided']['per_byte_ns']:.3f} ns per byte"
        )
        if bisection := self.facts["bisection"]:
            share, low, high = (percent(bisection[name]) for name in ("share", "low", "high"))
            console.print(
                f"bisection: {number(bisection['ranks'])} ranks in random pairs exchange at {share} ({low} "
                f"to {high}) of the bandwidth of a pair alone, {bisection['alone_gb_s']:.2f} GB/s",
                soft_wrap=True,
            )
        if self.facts["collectives"]:
            self._collectives(console)

    def _collectives(self, console: Console) -> None:
        """Print where measured times of collective operations are farthest from the predicted ones."""
        times = self.facts["collectives"]
        names = list(dict.fromkeys(time["operation"] for time in times))
        of_each = ([time for time in times if time["operation"] == name] for name in names)
        console.print(
            text_table(MEASURED_COLLECTIVES, map(_farthest, of_each), title="collective operations")
        )
        fitted = "fitted rules, then " if self.facts["platform"]["collectives"] else ""
        rules = f"algorithms by {fitted}the rules of {self.facts['platform']['mpi']}"
        text = f"{rules}; --json has all {number(len(times))} times"
        console.print(Text(text, style=DIM), soft_wrap=True)

    def _network(self, console: Console, level: str, fit: Mapping[str, Any]) -> None:
        network = fit["network"]
        console.print(text_table(SEGMENTS, map(_segment, network["segments"]), title=_LEVELS[level]))
        limit = network["rendezvous_above_bytes"]
        protocol = "all are sent before their receive is posted" if limit is None else (
            f"rendezvous above {number(limit)} bytes, {duration(network['rendezvous_latency_ns'])} more"
        )  # fmt: skip
        console.print(
            f"{protocol}; predicted within {percent(fit['error'])} (median of {fit['sizes']} sizes), "
            f"{percent(fit['worst_error'])} at worst"
        )


def _farthest(times: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the time that differs most from its prediction, and the median ratio of all sizes."""
    ratios = [_ratio(time["median_ns"], time["predicted_ns"]) for time in times]
    time, ratio = max(zip(times, ratios, strict=True), key=lambda pair: abs(log(pair[1])))
    nearest = "" if time["nearest"] == time["algorithm"] else time["nearest"]
    return {**time, "ratio": ratio, "median_ratio": median(ratios), "nearest": nearest}


def _ratio(measured_ns: float, predicted_ns: float) -> float:
    return max(measured_ns, 1.0) / max(predicted_ns, 1.0)


def _segment(segment: Mapping[str, Any]) -> dict[str, Any]:
    """Return a segment with the time of 1000 bytes, overheads included."""
    names = ("per_byte_ns", "send_overhead_per_byte_ns", "recv_overhead_per_byte_ns")
    return {**segment, "per_kb_ns": 1000 * sum(segment[name] for name in names)}
