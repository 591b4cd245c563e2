"""Calls that start and end MPI."""

from __future__ import annotations

from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay

SILENT = ("Init", "Init_thread", "Finalize")
"""Events whose calls are made around the replay, not in it."""


@handles(*SILENT)
def lifecycle(rank: RankReplay, event: AnyCall) -> None:
    """MPI is initialised before the replay and finalised when its process ends."""
    rank.pace.wait()


@handles("Pcontrol")
def pcontrol(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pcontrol(level): a word to a tracer."""
    rank.issue("Pcontrol", event["level"])
