"""Algorithms of collective operations, and which are used where a platform names none.

The message size that a rule counts is the number of bytes that one rank contributes or receives: the whole
vector of Bcast, Reduce, Allreduce and Scan, one rank's block of the others (their mean, where they differ).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALGORITHMS", "DEFAULT_RULES", "AlgorithmRule"]

ALGORITHMS = {
    "barrier": ("dissemination", "recursive_doubling", "tree", "linear"),
    "bcast": ("binomial", "scatter_allgather", "chain", "linear"),
    "reduce": ("binomial", "rabenseifner", "linear"),
    "allreduce": ("recursive_doubling", "rabenseifner", "ring", "reduce_bcast"),
    "gather": ("binomial", "linear"),
    "scatter": ("binomial", "linear"),
    "allgather": ("recursive_doubling", "ring", "bruck", "gather_bcast"),
    "alltoall": ("bruck", "pairwise", "linear"),
    "reduce_scatter": ("pairwise", "recursive_halving", "linear"),
    "scan": ("recursive_doubling", "linear"),
}
"""Operation, without `MPI_` and in lower case -> its algorithms."""


@dataclass(frozen=True)
class AlgorithmRule:
    """The algorithm of a collective operation up to a message size and a number of ranks; None: any."""

    algorithm: str
    max_bytes: int | None = None
    max_ranks: int | None = None


DEFAULT_RULES = {
    "barrier": (AlgorithmRule("dissemination"),),
    "bcast": (
        AlgorithmRule("binomial", 12288),
        AlgorithmRule("binomial", None, 8),
        AlgorithmRule("scatter_allgather"),
    ),
    "reduce": (AlgorithmRule("binomial", 2048), AlgorithmRule("rabenseifner")),
    "allreduce": (AlgorithmRule("recursive_doubling", 2048), AlgorithmRule("rabenseifner")),
    "gather": (AlgorithmRule("binomial"),),
    "scatter": (AlgorithmRule("binomial"),),
    "allgather": (AlgorithmRule("recursive_doubling", 81920), AlgorithmRule("ring")),
    "alltoall": (AlgorithmRule("bruck", 256), AlgorithmRule("pairwise")),
    "reduce_scatter": (AlgorithmRule("recursive_halving", 65536), AlgorithmRule("pairwise")),
    "scan": (AlgorithmRule("recursive_doubling"),),
}
"""Thresholds of MPICH (Thakur, Rabenseifner, Gropp 2005)."""
