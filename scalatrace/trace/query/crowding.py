"""Whether the ranks of a run had cores of their own."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CORES_PER_HOST", "OVERSUBSCRIBED", "RANKS_PER_HOST", "crowding_note", "ranks_and_cores"]

RANKS_PER_HOST, CORES_PER_HOST = "ranks-per-host", "cores-per-host"
"""Entries of a trace's header."""

OVERSUBSCRIBED = "oversubscribed"
"""Entry of the header of an extrapolated trace."""


def ranks_and_cores(meta: Mapping[str, str]) -> tuple[int, int] | None:
    """Return ranks and cores of a host, by the header of a trace; None: not known, or not the same."""
    ranks, cores = (meta.get(name, "") for name in (RANKS_PER_HOST, CORES_PER_HOST))
    return (int(ranks), int(cores)) if ranks.isdecimal() and cores.isdecimal() else None


def crowding_note(meta: Mapping[str, str]) -> str:
    """Return what it means for the times that a host had more ranks than cores; empty where it had not."""
    if OVERSUBSCRIBED in meta:
        return f"{meta[OVERSUBSCRIBED]}; times in MPI contain waiting for cores"
    found = ranks_and_cores(meta)
    if found is None or found[0] <= found[1]:
        return ""
    ranks, cores = found
    shared = f"{ranks} ranks shared {cores} core{'s' if cores > 1 else ''} of a host"
    return (
        f"{shared}: times in MPI contain waiting for a core, and efficiencies are lower than with a core for "
        "each rank"
    )
