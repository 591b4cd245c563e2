"""Format sets of ranks for people: `0-3, 8`."""

from __future__ import annotations

from itertools import pairwise

from scalatrace.trace.values.ranklist import RankList

__all__ = ["ranks"]

_RUNS_SHOWN = 10


def ranks(ranklist: RankList) -> str:
    """Return a set of ranks: runs (0-3, 8), a stride (0-98:2), or the dissertation's notation if longer."""
    runs = ranklist.runs
    if len(runs) > 2 and (step := _stride(ranklist)):
        return f"{runs[0][0]}-{runs[-1][0]}:{step}"
    if len(runs) > _RUNS_SHOWN:
        return str(ranklist)
    return ", ".join(_run(start, stop) for start, stop in runs) or "none"


def _run(start: int, stop: int) -> str:
    return str(start) if stop == start + 1 else f"{start}-{stop - 1}"


def _stride(ranklist: RankList) -> int:
    """Return the distance between ranks that are all equally far apart, else 0."""
    starts = [start for start, stop in ranklist.runs if stop == start + 1]
    steps = {b - a for a, b in pairwise(starts)}
    return steps.pop() if len(starts) == len(ranklist.runs) and len(steps) == 1 else 0
