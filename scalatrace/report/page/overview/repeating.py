"""Whether a function repeats, or its caller calls it again, between two MPI calls.

A call stack is the same in both cases. The Python source decides: without a loop around both lines, the
function ended in between. With one, no caller computes in between if none of them has a loop around its line.
"""

from __future__ import annotations

from functools import cache

from scalatrace.report.costs.computation import ComputationRepeat, Repeats, SiteCall, common_function
from scalatrace.report.page.sources import SourceReader

__all__ = ["repeats_by_source"]


def repeats_by_source(sources: SourceReader) -> Repeats:
    """Return a function that tells how calls repeat, by the source of the program."""

    @cache
    def repeats(first: SiteCall, last: SiteCall) -> ComputationRepeat:
        ways, depth = common_function(first, last)
        has_loop = sources.has_loop(ways[0][depth], ways[1][depth]) if depth > 0 else None
        if has_loop is None:
            return ComputationRepeat.UNKNOWN
        if not has_loop:
            return ComputationRepeat.CALLER
        is_called_once = all(sources.has_loop(frame, frame) is False for frame in ways[0][:depth])
        return ComputationRepeat.FUNCTION if is_called_once else ComputationRepeat.UNKNOWN

    return repeats
