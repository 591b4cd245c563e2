"""Parallel efficiency as the POP centre of excellence defines it, from the measured totals of each rank.

    run time                 = the longest of computation + MPI of a rank
    parallel efficiency      = mean computation / run time = load balance * communication efficiency
    load balance             = mean computation / largest computation
    communication efficiency = largest computation / run time

A rank's total is the mean of all ranks, which the histograms have, times a power of 2^(1/16) (`Trace.load`):
it is within 2.2 %. Start-up and shut-down are no part of it (`scalatrace.trace.phases`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.report.costs.phases import unknown_efficiency
from scalatrace.report.costs.rows import CostRow, rank_totals, whole_time
from scalatrace.report.style import duration, number, ranks
from scalatrace.trace.model.trace import RUN_TIME_NS, Trace
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.threads import elapsed_ns, thread_count
from scalatrace.trace.values.ranklist import RankList

__all__ = [
    "Efficiency",
    "Manager",
    "RankBin",
    "RunTime",
    "TimeParts",
    "TraceTimes",
    "efficiency",
    "find_manager",
    "rank_bins",
    "run_time",
    "time_parts",
    "times_of",
]

ELAPSED = "elapsed"


MIN_EQUAL_SHARE = 0.95
"""Part of the longest time from which on times count as equal: totals of a rank are known within 5 % only."""

MAX_NAMED = 16
"""Ranks that are named."""

EQUALLY = "all ranks equally"
"""Text where no rank stands out."""

MAX_MANAGER_PART = 0.1
"""Computation of a rank over the mean of the others, up to which it hardly computes."""

MIN_BALANCE_OF_OTHERS = 0.9
"""Mean computation of the others over the longest one, from which on these compute equally long."""


def longest_ranks(of: Sequence[int], times: Floats) -> str:
    """Name the ranks with the longest times, as far as these are known."""
    near = np.flatnonzero(times >= MIN_EQUAL_SHARE * times.max()).tolist()
    if len(near) > MAX_NAMED and len(near) < len(of):
        return f"{number(len(near))} of the ranks"
    if len(near) == len(of) > 1:
        return EQUALLY
    named = ranks(RankList.from_runs((of[i], of[i] + 1) for i in near))
    return f"rank {named}" if len(near) == 1 else f"ranks {named}"


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


def efficiency(trace: Trace, total: CostRow | None = None) -> Efficiency | None:
    """The times of all ranks; None where the trace does not have those of each rank, or of several threads.

    Args:
        total: the result of `whole_time`, if the caller has it.
    """
    if thread_count(trace.meta) > 1:
        return None
    total = whole_time(trace) if total is None else total
    compute = rank_totals(trace, COMPUTE, total.compute_ns)
    comm = rank_totals(trace, COMM, total.comm_ns)
    return None if compute is None or comm is None else Efficiency(tuple(trace.ranks), compute, comm)


class TraceTimes(NamedTuple):
    """The times of a trace without start-up and shut-down.

    Attributes:
        total: of all ranks.
        by_rank: of each rank; None: not known.
    """

    total: CostRow
    by_rank: Efficiency | None


def times_of(trace: Trace) -> TraceTimes:
    """Return the times of all ranks and of each; of many ranks this takes a while."""
    total = whole_time(trace)
    return TraceTimes(total, efficiency(trace, total))


class RunTime(NamedTuple):
    """The time of a run between start-up and shut-down.

    Attributes:
        ns: elapsed time; None: not known.
        basis: what it is, where it is not that of the longest rank.
        note: why there are no efficiencies; "": there are, or each rank's times were never stored.
        interval_ns: of an extrapolated time that is too wide for a number; None: it is not.
    """

    ns: float | None
    basis: str = ""
    note: str = ""
    interval_ns: tuple[int, int] | None = None

    @property
    def is_elapsed(self) -> bool:
        """Whether several threads made calls, so that sums of times are longer than the run."""
        return self.basis == ELAPSED


def run_time(trace: Trace, total: CostRow, efficiency_of_run: Efficiency | None) -> RunTime:
    """Return the run time of a trace: of the longest rank, else the mean; of several threads that elapsed.

    Args:
        total: the result of `whole_time`.
        efficiency_of_run: the result of `efficiency`.
    """
    if (threads := thread_count(trace.meta)) > 1:
        comm, compute = ((ns or 0.0) / len(trace.ranks) for ns in (total.comm_ns, total.compute_ns))
        sums = f"{duration(comm)} in MPI and {duration(compute)} computing per rank"
        note = f"up to {threads} threads of a rank call MPI: {sums} are sums over them, as all times below"
        return RunTime(elapsed_ns(trace), ELAPSED, note)
    if efficiency_of_run is not None:
        return RunTime(efficiency_of_run.run_time_ns, interval_ns=extrapolated_interval_ns(trace))
    if total.comm_ns is None and total.compute_ns is None:
        return RunTime(None)
    mean = ((total.comm_ns or 0.0) + (total.compute_ns or 0.0)) / len(trace.ranks)
    note = f"no efficiencies: {unknown_efficiency(trace.phases)}" if trace.phases else ""
    return RunTime(mean, "mean of the ranks", note, extrapolated_interval_ns(trace))


def extrapolated_interval_ns(trace: Trace) -> tuple[int, int] | None:
    """Return the interval of the run time of an extrapolated trace; None: a number says as much."""
    low, dots, high = trace.meta.get(RUN_TIME_NS, "").partition("..")
    return (int(low), int(high)) if dots and low.isdecimal() and high.isdecimal() else None


def _over(part: float, total: float) -> float | None:
    return part / total if total > 0 else None


MAX_EXCESS = 1.05
"""Run time on a network that takes no time, over the recorded one, from which on the parts are not known.
Totals of ranks are known within 5 %."""


@dataclass(frozen=True)
class TimeParts:
    """Parts of the run time, from the recorded run on a network that takes no time.

    There, ranks wait only since others come later; what the recorded run takes beyond it is transfer.

    Attributes:
        computing, waiting, transfer: means of the ranks, from 0 to 1; waiting includes that of ranks that end
            earlier. Where times contain waiting for cores, transfer is None, and the others are parts of the
            simulated run.
        serialisation, transfer_efficiency: of POP, whose product is the communication efficiency: largest
            computation over the simulated run time, and this over the recorded one; None: not known.
    """

    computing: float
    waiting: float
    transfer: float | None
    serialisation: float | None
    transfer_efficiency: float | None


def time_parts(
    run_ns: float,
    compute_ns: float,
    most_compute_ns: float | None,
    ideal_ns: float | None,
    shared_cores: bool,
    waiting_ns: float | None = None,
) -> TimeParts | None:
    """Return the parts of a run time; None: not known.

    Args:
        waiting_ns: mean of the ranks on that network; None: its run time without the mean computation.
        compute_ns: mean of the ranks; `most_compute_ns` is the largest.
        ideal_ns: run time on a network that takes no time; None: not simulated.
        shared_cores: times contain waiting for cores.
    """
    if not ideal_ns or not run_ns or (not shared_cores and ideal_ns > MAX_EXCESS * run_ns):
        return None
    whole_ns = ideal_ns if shared_cores else max(run_ns, ideal_ns)
    if waiting_ns is None:
        waiting_ns = max(ideal_ns - compute_ns, 0.0)
    waiting = min(waiting_ns, ideal_ns) / whole_ns
    computing = ideal_ns / whole_ns - waiting
    serialisation = None if most_compute_ns is None else min(most_compute_ns / ideal_ns, 1.0)
    if shared_cores:
        return TimeParts(computing, waiting, None, serialisation, None)
    transfer = min(ideal_ns / run_ns, 1.0)
    if serialisation and most_compute_ns is not None:
        transfer = most_compute_ns / run_ns / serialisation
    return TimeParts(computing, waiting, max(1 - computing - waiting, 0.0), serialisation, transfer)


MAX_BINS = 128
"""Sets of consecutive ranks whose times are drawn."""


@dataclass(frozen=True)
class RankBin:
    """Times of consecutive ranks in ns: least, mean and most of computation, and in MPI."""

    first: int
    last: int
    compute_ns: tuple[float, float, float]
    comm_ns: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Manager:
    """A rank that hardly computes, while the others compute equally long: it hands out work, for example.

    Attributes:
        compute_ns: its computation.
        others_ns: mean computation of the others.
    """

    rank: int
    compute_ns: float
    others_ns: float

    @property
    def part(self) -> float:
        """Its computation over that of the others."""
        return self.compute_ns / self.others_ns


def find_manager(rows: Sequence[RankBin]) -> Manager | None:
    """Return the only rank that hardly computes; None: there is none, or rows are of several ranks."""
    rows = sorted(rows, key=lambda row: row.compute_ns[1])
    if len(rows) < 3 or any(row.first != row.last for row in rows):
        return None
    own, *others = (row.compute_ns[1] for row in rows)
    mean = sum(others) / len(others)
    if own > MAX_MANAGER_PART * mean or mean < MIN_BALANCE_OF_OTHERS * others[-1]:
        return None
    return Manager(rows[0].first, own, mean)


def rank_bins(times: Efficiency) -> tuple[RankBin, ...]:
    """Return the times of at most MAX_BINS sets of consecutive ranks."""
    count = len(times.ranks)
    size = -(-count // MAX_BINS)
    starts = np.arange(0, count, size)
    lengths = np.diff([*starts.tolist(), count])

    def spread(values: Floats) -> list[tuple[float, float, float]]:
        least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        mean = np.add.reduceat(values, starts) / lengths
        return list(zip(least.tolist(), mean.tolist(), most.tolist(), strict=True))

    firsts = [times.ranks[start] for start in starts.tolist()]
    lasts = [times.ranks[min(start + size, count) - 1] for start in starts.tolist()]
    return tuple(map(RankBin, firsts, lasts, spread(times.compute_ns), spread(times.comm_ns)))
