"""Detection of runs whose ranks shared cores."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "HOSTS",
    "OVERSUBSCRIBED",
    "is_oversubscribed",
    "knows_cores",
    "oversubscription_note",
    "waited_for_cores",
]

HOSTS = RANKS_PER_HOST, CORES_PER_HOST, _ = "ranks-per-host", "cores-per-host", "hosts"
"""Entries of a trace's header that describe the machine of the run."""

OVERSUBSCRIBED = "oversubscribed"
"""Entry of the header of an extrapolated trace: its inputs with more ranks than cores."""


def is_oversubscribed(meta: Mapping[str, str]) -> bool:
    """Return whether a host had more ranks than cores, by the header of a trace; False: it is not known."""
    return knows_cores(meta) and int(meta[RANKS_PER_HOST]) > int(meta[CORES_PER_HOST])


def knows_cores(meta: Mapping[str, str]) -> bool:
    """Return whether the header of a trace has the ranks and cores of the hosts."""
    return all(meta.get(name, "").isdecimal() for name in (RANKS_PER_HOST, CORES_PER_HOST))


def oversubscription_note(meta: Mapping[str, str]) -> str:
    """Return what it means for times that ranks shared cores; empty where they did not."""
    if OVERSUBSCRIBED in meta:
        return f"{meta[OVERSUBSCRIBED]}; times contain waiting for cores, above all those in MPI"
    if not is_oversubscribed(meta):
        return ""
    ranks, cores = meta[RANKS_PER_HOST], meta[CORES_PER_HOST]
    shared = f"{ranks} ranks shared {cores} core{'' if cores == '1' else 's'} of a host"
    return (
        f"{shared}: times contain waiting for a core, above all those in MPI, and efficiencies are lower "
        "than with a core for each rank"
    )


def waited_for_cores(meta: Mapping[str, str], compute_ns: float, run_time_ns: float) -> float:
    """Return the part of the computation that cannot have had a core, by what the cores of a host can do.

    Ranks that sleep in their computation need no core. 0: the cores suffice, or are not known.

    Args:
        compute_ns: mean time in computation of a rank.
    """
    if not is_oversubscribed(meta) or compute_ns <= 0:
        return 0.0
    possible_ns = run_time_ns * int(meta[CORES_PER_HOST]) / int(meta[RANKS_PER_HOST])
    return max(1 - possible_ns / compute_ns, 0.0)
