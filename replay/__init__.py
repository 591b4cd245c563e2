"""Replay: issue the calls of a trace again, over the same number of ranks (dissertation §3.4, §5.2.6).

from replay import Options, check, run
from scalatrace.replay.transport.mpi import MPITransport      # brings MPI up

transport = MPITransport()
check(trace, transport.size)
result = run(trace, transport, Options())
"""

from scalatrace.replay.check import check
from scalatrace.replay.common.errors import (
    AloneError,
    MissingError,
    RanksError,
    ReplayError,
    UnsupportedError,
)
from scalatrace.replay.common.options import Collectives, Compute, Options, Times
from scalatrace.replay.result import RankResult, Summary
from scalatrace.replay.run import run
from scalatrace.trace.query.factors import CallFactors

__all__ = [
    "AloneError",
    "CallFactors",
    "Collectives",
    "Compute",
    "MissingError",
    "Options",
    "RankResult",
    "RanksError",
    "ReplayError",
    "Summary",
    "Times",
    "UnsupportedError",
    "check",
    "run",
]
