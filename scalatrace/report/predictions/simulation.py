"""`simulate`: the predicted time, the table of call sites, the longest path and its sensitivity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.costs.phases import phase_line
from scalatrace.report.predictions.columns import HOT_LINKS, SIMULATED_BY
from scalatrace.report.style import (
    DIM,
    TITLE,
    coarse,
    coarse_duration,
    coarse_percent,
    duration,
    estimate,
    interval_ends,
    number,
    text_table,
)
from scalatrace.stats.interval_width import is_vague

__all__ = ["SimulationReporter", "predicted_ns"]

MAX_LINKS = 5
"""Links that are shown; `--json` has more."""

_PARAMETERS = {"latency": "latency", "per_byte": "time per byte"}


def predicted_ns(facts: Mapping[str, Any]) -> float:
    """Return the predicted time: the median of drawn runs, if there are any."""
    drawn = facts.get("drawn")
    return float(drawn["median_ns"] if drawn else facts["time_ns"])


class SimulationReporter:
    """Prints the facts that the command computes.

    Args:
        by: "site", "operation" or "rank".
        limit: rows that are shown.
    """

    def __init__(self, facts: dict[str, Any], by: str, limit: int) -> None:
        self.facts, self.by, self.limit = facts, by, limit

    def render(self, out: Console) -> None:
        """Print all parts."""
        self._time(out)
        self._rows(out)
        self._path(out)
        self._tolerance(out)
        self._links(out)
        for name, note in sorted(self.facts["notes"].items()):
            out.print(Text(f"{clean(name)}: {note}", style=DIM))

    def _time(self, out: Console) -> None:
        facts, drawn = self.facts, self.facts.get("drawn")
        ends = (drawn["low_ns"], drawn["high_ns"]) if drawn else (1.0, 1.0)
        time = estimate(0.0, *ends) if is_vague(*ends) else coarse_duration(predicted_ns(facts))
        out.print(
            f"predicted time  {time}   "
            f"{number(facts['ranks'])} ranks on {clean(facts['platform'])}, {number(facts['calls'])} calls"
        )
        if line := phase_line(facts.get("phases"), "the predicted time"):
            out.print(Text(line, style=DIM), soft_wrap=True)
        if drawn:
            interval = " to ".join(interval_ends(drawn["low_ns"], drawn["high_ns"]))
            runs = f"{drawn['runs']} runs with drawn computation times; the predicted time is their median"
            if checks := drawn.get("checks"):
                near = f"{number(checks['count'])} runs here took {checks['low']:.2f} to {checks['high']:.2f}"
                out.print(f"95 % interval   {interval}   {near} of their predicted times")
            else:
                out.print(f"drawn runs      {interval}   95 % of {runs}")
        if check := facts.get("check"):
            measured, ratio = duration(check["measured_s"] * 1e9), f"{check['ratio']:.3f}"
            out.print(f"measured        {measured}   {ratio} of the predicted time; added to the checks")
        if drawn and drawn["runs"] > 1:
            kind, times = ("one run", "drawn") if facts["drawn_run"] else ("mean times", "mean")
            out.print(
                f"{kind:<14}  {coarse_duration(facts['time_ns'])}   with {times} computation times, as below"
            )
        if not (drawn and "checks" in drawn):
            on_platform = f"measured runs of this platform: {number(facts['platform_checks'])}"
            note = f"{on_platform}; 3 or more give an interval of real runs. --measured adds one."
            out.print(Text(note, style=DIM))

    def _rows(self, out: Console) -> None:
        rows, has_path = self.facts["rows"], bool(self.facts["rows"]) and "path_ns" in self.facts["rows"][0]
        has_path = has_path and rows[0]["path_ns"] is not None
        shown = sorted(rows, key=lambda row: -row["end_ns"]) if self.by == "rank" else rows
        table = SIMULATED_BY[self.by]
        if self.by == "rank":
            table = table.only("rank", "end_ns", "transfer_ns", "waiting_ns", "compute_ns")
        elif not has_path:
            table = table.without("of_path")
        texts = (
            {
                **row,
                "call site": row.get("site"),
                "of_path": (row.get("path_ns"), self.facts["time_ns"]) if has_path else None,
            }
            for row in shown[: self.limit]
        )
        out.print(text_table(table, texts))
        if len(shown) > self.limit:
            out.print(Text(f"{len(shown) - self.limit} more rows: --top {len(shown)}", style=DIM))

    def _path(self, out: Console) -> None:
        path, total = self.facts["path"], self.facts["time_ns"]
        out.print(
            Text(
                f"longest path, from rank to rank, to the end of rank {self.facts['last_rank']}", style=TITLE
            )
        )
        for name, key in (
            ("computation", "compute_ns"),
            ("latency", "latency_ns"),
            ("bytes", "bytes_ns"),
            ("overheads", "overhead_ns"),
        ):
            more = f"   {number(path['messages'])} latencies" if key == "latency_ns" else ""
            out.print(
                f"  {name:<12} {coarse_percent(path[key], total):>6}  {coarse_duration(path[key])}{more}"
            )

    def _tolerance(self, out: Console) -> None:
        rows = self.facts.get("tolerance", ())
        for parameter, name in _PARAMETERS.items():
            parameter_rows = [row for row in rows if row["parameter"] == parameter]
            if not parameter_rows:
                continue
            factors = [
                "any" if row["factor"] is None else f"{coarse(row['factor']):g}" for row in parameter_rows
            ]
            parts = [
                f"{row['slower']:.0%} at {factor} x"
                for row, factor in zip(parameter_rows, factors, strict=True)
            ]
            out.print(f"  slower by {name}: {', '.join(parts)}")

    def _links(self, out: Console) -> None:
        rows = self.facts.get("links", ())
        if rows:
            out.print(Text("links that are busy longest", style=TITLE))
            texts = ({**row, "call site": row["site"]} for row in rows[:MAX_LINKS])
            out.print(text_table(HOT_LINKS, texts))
