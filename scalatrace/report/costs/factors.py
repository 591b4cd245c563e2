"""Times of one trace as named factors, to compare runs: per call site the time in MPI and before it."""

from __future__ import annotations

from scalatrace.report.costs.rows import JOIN, timed_by_node
from scalatrace.trace.model.callsite import short_frame, split_frame
from scalatrace.trace.model.trace import Trace

__all__ = ["FACTOR_KEYS", "time_factors"]

FACTOR_KEYS = ("site", "function", "op")
"""What distinguishes factors: the line, the function, or the operation only."""


def time_factors(trace: Trace, by: str = "site") -> dict[str, float]:
    """Return the mean time per rank in ns of each call site: in the calls, and computing before them.

    Start-up and shut-down are left out.

    Args:
        by: one of FACTOR_KEYS. Lines move when a program is edited, functions and operations do not.
    """
    factors: dict[str, float] = {}
    trace = trace.without_phases
    for row in timed_by_node(trace, "op" if by == "op" else "site"):
        place = "" if by == "op" else f" {_place(row.key[1], by)}"
        for what, ns in (("MPI", row.comm_ns), ("before", row.compute_ns)):
            if ns is not None:
                name = f"{row.key[0]}{place} {what}"
                factors[name] = factors.get(name, 0.0) + ns / len(trace.ranks)
    return factors


def _place(site: str, by: str) -> str:
    frame = site.split(JOIN)[0]
    if by == "site":
        return short_frame(frame)
    parts = split_frame(frame)
    return f"{parts.file.rpartition('/')[2]}:{parts.name or parts.function}"
