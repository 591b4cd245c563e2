"""Least, mean and most of what ranks do, and which ranks: computation, time in MPI, bytes and calls.

This is the table at the end of IPM's banner, with the ranks named. Calls and bytes are exact. A rank's times
are known within 5 % (`scalatrace.report.costs.efficiency`), so ranks within 5 % of an end are named with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import ScalatraceError
from scalatrace.report.costs.efficiency import MIN_EQUAL_SHARE, Efficiency
from scalatrace.report.costs.rows import MAX_RANKS
from scalatrace.report.style import coarse_duration, duration, nbytes, number, ranks
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import calls_by_rank, takes_long
from scalatrace.trace.query.summaries import byte_parameters, summarised
from scalatrace.trace.query.traffic import traffic_by_class
from scalatrace.trace.values.from_arrays import ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList

__all__ = ["RankSpread", "spreads"]

MAX_VISITS = 1 << 16
"""Ranks times event nodes with bytes of their own; more would take seconds: then the bytes stay unknown."""

MAX_COUNT = 10**300
"""The largest number whose mean is a floating-point number."""

MAX_RANKS_TEXT = 24
"""Characters of ranks that are listed; else their number is given."""


@dataclass(frozen=True)
class RankSpread:
    """The ends of one quantity over the ranks.

    Attributes:
        name: "computation", "time in MPI", "bytes sent" or "calls".
        unit: "ns", "bytes" or "count".
        least, mean, most: of a rank.
        least_ranks, most_ranks: ranks with these values, for times within 5 %.
    """

    name: str
    unit: str
    least: float
    mean: float
    most: float
    least_ranks: RankList
    most_ranks: RankList

    @property
    def is_equal(self) -> bool:
        """Whether all ranks have the same value, as far as that is known."""
        return self.least_ranks == self.most_ranks

    def plain(self) -> dict[str, Any]:
        """Return it as plain data; ranks are ranklists as text."""
        return {
            "quantity": self.name,
            "unit": self.unit,
            "min": round(self.least),
            "min_ranks": str(self.least_ranks),
            "mean": self.mean,
            "max": round(self.most),
            "max_ranks": str(self.most_ranks),
        }

    def row(self) -> dict[str, str]:
        """Return the texts of the table."""
        exact = {"ns": duration, "bytes": nbytes, "count": number}[self.unit]
        of_rank = coarse_duration if self.unit == "ns" else exact
        ends = (
            ("all", "all") if self.is_equal else (_ranks_text(self.least_ranks), _ranks_text(self.most_ranks))
        )
        return {
            "quantity": self.name,
            "min": of_rank(self.least),
            "min_ranks": ends[0],
            "mean": exact(self.mean),
            "max": of_rank(self.most),
            "max_ranks": ends[1],
        }


def spreads(trace: Trace, times: Efficiency | None) -> list[RankSpread]:
    """Return the quantities that are known for each rank.

    Args:
        times: those of the ranks; None: not known.
    """
    result = []
    if times is not None:
        where = np.array(times.ranks)
        result.append(_spread("computation", "ns", where, times.compute_ns, MIN_EQUAL_SHARE))
        result.append(_spread("time in MPI", "ns", where, times.comm_ns, MIN_EQUAL_SHARE))
    return [*result, *_exact_spreads(trace)]


def _exact_spreads(trace: Trace) -> Iterator[RankSpread]:
    """Yield the bytes sent and the calls; nothing where it takes long to count them."""
    if not len(trace.ranks) or trace.nprocs > MAX_RANKS or takes_long(trace.nodes):
        return
    where = ranks_in(trace.ranks)
    sent = None if summarised(trace, byte_parameters) else _sum_bytes(trace)
    if sent is not None and 0 < sent.max() <= MAX_COUNT:
        yield _spread("bytes sent", "bytes", where, sent[where])
    if (calls := _sum_calls(trace)) is not None and calls.max() <= MAX_COUNT:
        yield _spread("calls", "count", where, calls[where])


Counts = np.ndarray[tuple[int], np.dtype[np.object_]]
"""Integers of the ranks, which may exceed 64 bits."""


def _sum_bytes(trace: Trace) -> Counts | None:
    """Return the bytes that each world rank hands to MPI; None: there are too many to count."""
    result: Counts = np.full(trace.nprocs, 0, dtype=object)
    try:
        for entry in traffic_by_class(trace, MAX_VISITS):
            if entry.sent:
                result[ranks_in(entry.ranks)] += entry.sent
    except ScalatraceError:  # too many, or damaged
        return None
    return result


def _sum_calls(trace: Trace) -> Counts | None:
    """Return the calls of each world rank; None: there are too many to count."""
    result: Counts = np.full(trace.nprocs, 0, dtype=object)
    try:
        for _, counts in calls_by_rank(trace):
            if isinstance(counts, np.ndarray):
                result += counts.astype(object)
                continue
            for members, n in counts:
                result[ranks_in(members)] += n
    except ScalatraceError:
        return None
    return result


def _spread(name: str, unit: str, where: Ints, values: Floats | Counts, share: int | float = 1) -> RankSpread:
    least, most = values.min(), values.max()
    at_least, at_most = where[values * share <= least], where[values >= share * most]
    return RankSpread(
        name, unit, least, values.sum() / len(where), most, ranks_of(at_least), ranks_of(at_most)
    )


def _ranks_text(members: RankList) -> str:
    text = ranks(members)
    return text if len(text) <= MAX_RANKS_TEXT else f"{number(len(members))} ranks"
