"""Start-up and shut-down of a trace in one line, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scalatrace.report.style import coarse_duration, duration
from scalatrace.trace.model.phases import Phase, Phases

__all__ = ["PlainPhases", "phase_line", "phase_lines", "plain_phases", "unknown_efficiency"]

PlainPhases = Mapping[str, Mapping[str, int]]
"""`start_up` and `shut_down`, each with `mean_ns` and `max_ns` of a rank."""


def plain_phases(phases: Phases) -> PlainPhases | None:
    """Return the times of both phases as plain data; None where a trace has none."""
    return {"start_up": _plain(phases.start_up), "shut_down": _plain(phases.shut_down)} if phases else None


def _plain(phase: Phase) -> dict[str, int]:
    return {"mean_ns": round(phase.mean_ns), "max_ns": round(phase.max_ns)}


def phase_line(phases: PlainPhases | None, left_out_of: str = "all times and shares") -> str:
    """Return both phases, with mean and largest time of a rank; "" where a trace has none.

    Args:
        left_out_of: what they are left out of.
    """
    if phases is None:
        return ""
    parts = [
        f"{name} {duration(times['mean_ns'])} (at most {coarse_duration(times['max_ns'])})"
        for name, times in (("start-up", phases["start_up"]), ("shut-down", phases["shut_down"]))
        if times["max_ns"] > 0
    ]
    return f"{', '.join(parts)} per rank: left out of {left_out_of}" if parts else ""


def phase_lines(runs: Sequence[PlainPhases]) -> str:
    """Return the means of both phases, the least and the largest of several runs; "" for none."""
    parts = []
    for name, key in (("start-up", "start_up"), ("shut-down", "shut_down")):
        means = [run[key]["mean_ns"] for run in runs]
        if max(means, default=0) > 0:
            parts.append(f"{name} {duration(min(means))} to {duration(max(means))}")
    return f"{', '.join(parts)} per rank: left out of all times" if parts else ""


def unknown_efficiency(phases: Phases) -> str:
    """Return why the times of each rank are not known."""
    if phases:
        return "times of each rank are not known: the trace has them with start-up and shut-down only"
    return "times of each rank are not known"
