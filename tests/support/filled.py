"""A trace of cores that are filled by hand, without MPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import scalatrace
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.model.trace import Trace

Fill = Callable[[Core, int], None]


def new_core(rank: int, nprocs: int, policy: Mapping[str, int]) -> Core:
    """A core with limits of parameters, the world and times."""
    core = Core(rank, nprocs)
    for parameter, limit in policy.items():
        core.set_policy(parameter, limit)
    core.define_comm(COMM_WORLD, 0, "world", range(nprocs))
    core.define_stat("compute_ns")
    return core


def recorded(fill: Fill, nprocs: int, folder: Path, policy: Mapping[str, int] | None = None) -> Trace:
    """Fill a core per rank, merge, write, load; flat logs beside it."""
    (folder / "logs").mkdir(exist_ok=True)
    cores = []
    for rank in range(nprocs):
        core = new_core(rank, nprocs, policy or {})
        core.flatlog_open(folder / "logs" / f"rank-{rank}.log")
        fill(core, rank)
        core.flatlog_close()
        core.finish()
        cores.append(core)
    for core in cores[1:]:
        cores[0].merge(core.pack())
    cores[0].write(folder / "a.st")
    return scalatrace.load(folder / "a.st")
