"""Replay: issue the calls of a trace again, over the same number of ranks (dissertation §3.4, §5.2.6).

from replay import Options, check, run
from replay.transport_mpi import MPITransport      # brings MPI up

transport = MPITransport()
check(trace, transport.size)
result = run(trace, transport, Options())
"""

from replay.check import check
from replay.engine import run
from replay.errors import AloneError, MissingError, RanksError, ReplayError, UnsupportedError
from replay.options import Collectives, Compute, Options, Times
from replay.result import RankResult, Summary
from replay.whatif import Rule

__all__ = [
    "AloneError",
    "Collectives",
    "Compute",
    "MissingError",
    "Options",
    "RankResult",
    "RanksError",
    "ReplayError",
    "Rule",
    "Summary",
    "Times",
    "UnsupportedError",
    "check",
    "run",
]
