"""Ports for MPI_Comm_accept and MPI_Comm_connect between ranks of one job.

The name of a port is another one in each run. Before the replay, the root of the first MPI_Comm_accept on a
port opens one, and all ranks learn its name: in the program, that came in a message or a file.
"""

from __future__ import annotations

from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.shared import all_gathered

ACCEPT = "Comm_accept"

__all__ = ["ACCEPT", "Ports"]


class Ports:
    """The ports on which a rank is the root of an MPI_Comm_accept."""

    def __init__(self, rank: RankReplay) -> None:
        self.rank = rank
        self.names: dict[str, None] = {}

    def see(self, call: AnyCall) -> None:
        """Take note of a call of this rank."""
        if call.op == ACCEPT and call["root"] == call.comm.rank:
            self.names[call["port_name"]] = None

    def finish(self) -> None:
        """Open the ports on which this rank is the first to accept, and learn those of the others.

        All ranks call it.
        """
        rank, opened = self.rank, dict[str, int]()
        for number, names in enumerate(all_gathered(rank.mpi, list(self.names))):
            for name in names:
                opened.setdefault(name, number)
        mine = {name: rank.mpi.open_port() for name, number in opened.items() if number == rank.mpi.rank}
        for of_rank in all_gathered(rank.mpi, mine):
            rank.ports |= of_rank
