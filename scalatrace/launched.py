"""Rank and node of this process, from the variables of a launcher (mpiexec, srun), before MPI starts."""

from __future__ import annotations

import os

__all__ = ["launched_rank", "on_one_node"]

_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZES = (("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"), ("MPI_LOCALNRANKS", "PMI_SIZE"))
"""Ranks on this node, ranks in all."""


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
    return any(here in os.environ and os.environ[here] == os.environ.get(all_) for here, all_ in _SIZES)
