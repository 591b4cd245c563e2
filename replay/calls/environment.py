"""Calls that start and end MPI."""

from __future__ import annotations

from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.args import Text

SIZES = ("size0", "size1", "size2", "size3")
"""Sizes of a kernel; 0 beyond its own."""
SILENT = ("Init", "Init_thread", "Finalize")
"""Events whose calls are made around the replay, not in it."""


@handles(*SILENT)
def lifecycle(rank: RankReplay, event: AnyCall) -> None:
    """MPI is initialised before the replay and finalised when its process ends."""
    rank.pace.wait()


@handles("Pcontrol")
def pcontrol(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pcontrol(level, kernel, sizes...): a kernel begins or ends, for a tracer."""
    sizes = [event[name] for name in SIZES if event.get(name) is not None]
    rank.issue("Pcontrol", event["level"], Text(event.get("kernel") or ""), *sizes)
