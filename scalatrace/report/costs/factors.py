"""Times of one trace as named factors, to compare runs: per call site the time in MPI and before it."""

from __future__ import annotations

from collections.abc import Iterable

from scalatrace.report.costs.compared import Key, moved_sites
from scalatrace.report.costs.rows import JOIN, timed_by_node
from scalatrace.trace.model.callsite import short_frame, split_frame
from scalatrace.trace.model.trace import Trace

__all__ = ["FACTOR_KEYS", "KnownSites", "time_factors"]

FACTOR_KEYS = ("site", "function", "op")
"""What distinguishes factors: the line, the function, or the operation only."""


class KnownSites:
    """Call sites of a series of runs, each as the first run has it.

    Where a file or line changed, they are paired as in `diff`: new ones with those of the run before that are
    gone.
    """

    def __init__(self) -> None:
        self._first: dict[Key, Key] = {}
        self._previous: set[Key] = set()

    def add(self, keys: Iterable[Key]) -> dict[Key, Key]:
        """Add the operations and call sites of the next run; return each as the first run has it."""
        here = set(keys)
        moved = moved_sites(self._previous - here, here - self._first.keys())
        for key in here - self._first.keys():
            self._first[key] = self._first[moved[key]] if key in moved else key
        self._previous = here
        return {key: self._first[key] for key in here}


def time_factors(trace: Trace, by: str = "site", known: KnownSites | None = None) -> dict[str, float]:
    """Return the mean time per rank in ns of each call site: in the calls, and computing before them.

    Start-up and shut-down are left out.

    Args:
        by: one of FACTOR_KEYS. Lines move when a program is edited, functions and operations do not.
        known: call sites of the runs before this one, which name those of this run.
    """
    factors: dict[str, float] = {}
    trace = trace.without_phases
    rows = timed_by_node(trace, "op" if by == "op" else "site")
    first = {} if known is None or by == "op" else known.add(row.key for row in rows)
    for row in rows:
        place = "" if by == "op" else f" {_place(first.get(row.key, row.key)[1], by)}"
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
