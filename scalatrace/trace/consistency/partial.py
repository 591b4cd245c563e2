"""Traces of a part of a program: calls that were not selected, or made while recording was switched off."""

from __future__ import annotations

from scalatrace.trace.model.trace import Trace

__all__ = ["LEFT_OUT", "NOT_SELECTED", "SWITCHED_OFF", "part_note"]

NOT_SELECTED, SWITCHED_OFF = "not selected", "switched off"
LEFT_OUT = (NOT_SELECTED, SWITCHED_OFF)
"""Names in a trace's table of counted calls; the others are operations."""


def part_note(trace: Trace) -> str:
    """Return why calls of the program are missing from its trace; "" where none is known to be missing."""
    causes = []
    if selection := trace.meta.get("selection"):
        causes.append(f"only a part of the program was recorded ({selection})")
    if ncalls := trace.counts.get(SWITCHED_OFF):
        were = "call was" if ncalls == 1 else "calls were"
        causes.append(f"{ncalls:,} {were} made while recording was switched off (MPI_Pcontrol)")
    return " and ".join(causes)
