"""Traces of a part of a program: calls were not selected, recording was switched off, or calls failed."""

from __future__ import annotations

from scalatrace.trace.consistency.failed import DID_NOTHING, WITH_ERRORS, nfailed
from scalatrace.trace.model.trace import Trace

__all__ = ["NOT_SELECTED", "NO_OPERATIONS", "SWITCHED_OFF", "part_note"]

NOT_SELECTED, SWITCHED_OFF = "not selected", "switched off"
NO_OPERATIONS = (NOT_SELECTED, SWITCHED_OFF, DID_NOTHING, WITH_ERRORS)
"""Names in a trace's table of counted calls; the others are operations."""


def part_note(trace: Trace) -> str:
    """Return why calls may have no partners in the trace; "" where no call is known to be missing."""
    causes = []
    if selection := trace.meta.get("selection"):
        causes.append(f"only a part of the program was recorded ({selection})")
    if ncalls := trace.counts.get(SWITCHED_OFF):
        were = "call was" if ncalls == 1 else "calls were"
        causes.append(f"{ncalls:,} {were} made while recording was switched off (MPI_Pcontrol)")
    if ncalls := nfailed(trace):
        causes.append(f"{ncalls:,} call{'s' * (ncalls != 1)} returned an error")
    return " and ".join(causes)
