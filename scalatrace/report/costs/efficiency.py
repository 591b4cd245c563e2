"""Parallel efficiency as the POP centre of excellence defines it, from the measured totals of each rank.

    run time                 = the longest of computation + MPI of a rank
    parallel efficiency      = mean computation / run time = load balance * communication efficiency
    load balance             = mean computation / largest computation
    communication efficiency = largest computation / run time

A rank's total is the mean of all ranks, which the histograms have, times a power of 2^(1/16) (`Trace.load`):
it is within 2.2 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scalatrace.trace.model.trace import LOAD_STEPS, Trace
from scalatrace.trace.query.load import COMM, COMPUTE

MAX_RANKS = 1 << 22
"""Traces of more ranks have no totals of each rank here, which would take 100 MB."""

__all__ = ["Efficiency", "efficiency", "rank_totals"]


@dataclass(frozen=True)
class Efficiency:
    """Where the ranks' time goes; times in nanoseconds.

    Attributes:
        ranks: of the trace.
        compute_ns, comm_ns: per rank, in the order of `ranks`.
    """

    ranks: tuple[int, ...]
    compute_ns: np.ndarray[tuple[int], np.dtype[np.float64]]
    comm_ns: np.ndarray[tuple[int], np.dtype[np.float64]]

    @cached_property
    def run_time_ns(self) -> float:
        """The longest of the ranks' times from MPI_Init to the last call."""
        return float((self.compute_ns + self.comm_ns).max())

    @property
    def parallel_efficiency(self) -> float | None:
        """Mean computation over run time; None without any time."""
        return _over(float(self.compute_ns.mean()), self.run_time_ns)

    @property
    def load_balance(self) -> float | None:
        """Mean over largest computation; None without computation."""
        return _over(float(self.compute_ns.mean()), float(self.compute_ns.max()))

    @property
    def communication_efficiency(self) -> float | None:
        """Largest computation over run time; None without any time."""
        return _over(float(self.compute_ns.max()), self.run_time_ns)

    @property
    def busiest(self) -> int:
        """The rank that computes most."""
        return self.ranks[int(self.compute_ns.argmax())]

    @property
    def longest_in_mpi(self) -> int:
        """The rank that spends most time in MPI."""
        return self.ranks[int(self.comm_ns.argmax())]


def efficiency(trace: Trace) -> Efficiency | None:
    """The times of all ranks; None where the trace does not have those of each rank."""
    compute, comm = rank_totals(trace, COMPUTE), rank_totals(trace, COMM)
    return None if compute is None or comm is None else Efficiency(tuple(trace.ranks), compute, comm)


def rank_totals(trace: Trace, stat: str) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Each rank's total of a statistic in its unit, within 5 %; None: only that of all ranks is known."""
    index = trace.stat_index.get(stat)
    if index is None:
        return None
    whole = 0.0
    for leaf in trace.leaves():
        for stats in leaf.stats:
            histogram = stats.histograms[index] if index < len(stats.histograms) else None
            whole += histogram.total if histogram is not None else 0.0
    whole *= trace.stats[index].resolution
    n = len(trace.ranks)
    if n == 1:
        return np.array([whole])
    vec = trace.load[index] if index < len(trace.load) and n <= MAX_RANKS else None
    if vec is None:
        return None
    return whole / n * np.exp2(np.array(vec.first(n), dtype=np.float64) / LOAD_STEPS)


def _over(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
