"""Ports for MPI_Comm_accept and MPI_Comm_connect between ranks of one job.

The name of a port is another one in each run. Before the replay, the root of the first MPI_Comm_accept on a
port opens one, and all ranks learn its name: in the program, that came in a message or a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.shared import all_gathered

if TYPE_CHECKING:
    from scalatrace import Trace

ACCEPT = "Comm_accept"

__all__ = ["ACCEPT", "open_ports"]


def open_ports(trace: Trace, rank: RankReplay) -> None:
    """Open the ports on which this rank is the first to accept, and learn those of the others.

    All ranks call it.
    """
    accepted = (
        call["port_name"]
        for call in trace.walk(rank.mpi.rank)
        if call.op == ACCEPT and call["root"] == call.comm.rank
    )
    opened: dict[str, int] = {}
    for number, names in enumerate(all_gathered(rank.mpi, list(dict.fromkeys(accepted)))):
        for name in names:
            opened.setdefault(name, number)
    mine = {name: rank.mpi.open_port() for name, number in opened.items() if number == rank.mpi.rank}
    for of_rank in all_gathered(rank.mpi, mine):
        rank.ports |= of_rank
