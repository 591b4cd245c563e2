"""Rank and node of this process, from the variables of a launcher (mpiexec, srun), before MPI starts."""

from __future__ import annotations

import os
import socket
from zlib import crc32

__all__ = ["REPORT_S", "is_first_to_report", "launched_rank", "on_one_node", "waits_for_failed_ranks"]

REPORT_S = 1.0
"""Seconds in which ranks that start together meet the same error."""

_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZES = (("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"), ("MPI_LOCALNRANKS", "PMI_SIZE"))
"""Ranks on this node, ranks in all."""

_reports: list[socket.socket] = []
"""Names of errors that this process reports; they are free again when it ends."""


def launched_rank() -> int | None:
    """Return the rank that a launcher gave this process; None without a launcher."""
    ranks = [os.environ[name] for name in _RANK if name in os.environ]
    if not ranks:
        return None
    return int(ranks[0]) if ranks[0].isdigit() else 0


def on_one_node() -> bool:
    """Return whether all ranks are known to run on this node; True without a launcher."""
    if launched_rank() is None or os.environ.get("SLURM_STEP_NUM_NODES") == "1":
        return True
    return any(local in os.environ and os.environ[local] == os.environ.get(all_) for local, all_ in _SIZES)


def waits_for_failed_ranks() -> bool:
    """Return whether the launcher waits for all ranks when one ends before MPI_Init with a bad status.

    Open MPI's mpiexec does not; MPICH's and srun do.
    """
    several = any(os.environ.get(name, "1") != "1" for name in ("PMI_SIZE", "SLURM_STEP_NUM_TASKS"))
    return several and launched_rank() is not None and "OMPI_COMM_WORLD_RANK" not in os.environ


def is_first_to_report(message: str) -> bool:
    """Return whether no other rank of the launcher on this node reports an error; True without a launcher."""
    if launched_rank() is None:
        return True
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0scalatrace-{os.geteuid()}-{os.getppid()}-{crc32(message.encode()):x}")
    except OSError:
        return False
    _reports.append(name)
    return True
