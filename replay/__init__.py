"""Replay: issue the calls of a trace again, over the same number of ranks (dissertation §3.4, §5.2.6).

from scalatrace.replay import ReplayOptions, check, run
from scalatrace.replay.transport.mpi import MPITransport      # brings MPI up

transport = MPITransport()
check(trace, transport.size)
result = run(trace, transport, ReplayOptions())
"""

from scalatrace.replay.check import check
from scalatrace.replay.common.errors import (
    AloneError,
    MissingError,
    RanksError,
    ReplayError,
    UnsupportedError,
)
from scalatrace.replay.common.options import CollectiveMode, ComputeMode, ReplayOptions, TimeChoice
from scalatrace.replay.result import RankResult, ReplaySummary
from scalatrace.replay.run import run
from scalatrace.trace.query.factors import FactorRule

__all__ = [
    "AloneError",
    "CollectiveMode",
    "ComputeMode",
    "FactorRule",
    "MissingError",
    "RankResult",
    "RanksError",
    "ReplayError",
    "ReplayOptions",
    "ReplaySummary",
    "TimeChoice",
    "UnsupportedError",
    "check",
    "run",
]
