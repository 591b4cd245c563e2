"""Growth of the times of call sites in an extrapolation: from its inputs to its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from operator import add
from typing import NamedTuple

from scalatrace.report.costs.rows import timed_by_node
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.trace import Trace

__all__ = [
    "RESULT",
    "AtSize",
    "Growth",
    "GrowthModel",
    "SiteAtSizes",
    "exponent",
    "growth_of",
    "rising_computation",
]

RESULT = 0
"""Stands for the number of ranks of the result, which may be that of an input, too."""

ALL_CALLS, IN_MPI, COMPUTATION = "all calls", "in MPI", "computation"
"""Names of the sums over all call sites: all time, the time in calls, and that before them."""

MAX_FALLING, MIN_RISING = -0.05, 0.05
"""Exponents up to which a time falls with the ranks, and from which on it rises."""


@dataclass(frozen=True)
class GrowthModel:
    """The fitted model of the largest part of a call site's time.

    Attributes:
        formula: mean time of a call in ns, over the number of ranks.
        part: which part, such as "in the calls, after Send  app.py:12:main".
        error: deviation from the points, as a part of the values.
    """

    formula: str
    part: str
    error: float


class AtSize(NamedTuple):
    """A call site at a number of ranks: means over all ranks, of all timed calls of a rank."""

    ranks: int
    comm_ns: float
    compute_ns: float
    timed: float

    @property
    def time_ns(self) -> float:
        """Time in the calls and in the computation before them."""
        return self.comm_ns + self.compute_ns

    def plus(self, other: AtSize | None) -> AtSize:
        """Return the sum of two call sites at the same number of ranks."""
        return self if other is None else AtSize(self.ranks, *map(add, self[1:], other[1:]))


@dataclass(frozen=True)
class SiteAtSizes:
    """A call site in the traces that were extrapolated, the smallest first."""

    op: str
    site: str
    sizes: tuple[AtSize, ...]


@dataclass(frozen=True)
class Growth:
    """A call site in the inputs and in the result.

    Attributes:
        sizes: at each of `Provenance.sizes`; None: it has no times there.
        factor, timed_factor: time and timed calls of a rank in the result over those in the largest input;
            None: there were none.
        added_ns: the difference of these times.
        recorded, extrapolated: exponents of the number of ranks, with which the time grows from the smallest
            to the largest input and from there to the result: 0 is constant, 1 linear. None: not known, or
            the program has other parameters.
        rises_again, computation_rises: whether the time or the computation in it, or the latter, falls in the
            inputs and rises in the result.
        model: of its largest part; None: not fitted.
    """

    op: str
    site: str
    sizes: tuple[AtSize | None, ...]
    factor: float | None
    timed_factor: float | None
    added_ns: float
    recorded: float | None = None
    extrapolated: float | None = None
    rises_again: bool = False
    computation_rises: bool = False
    model: GrowthModel | None = None


def growth_of(
    trace: Trace,
    inputs: Sequence[SiteAtSizes],
    sizes: Sequence[int],
    site_models: Mapping[tuple[str, str], GrowthModel],
    same_parameters: bool = True,
) -> list[Growth]:
    """Return the sums over all calls, then the call sites of a result, those that add most time first.

    Args:
        inputs: call sites of the traces that were extrapolated.
        sizes: numbers of ranks of these traces, ascending.
        site_models: operation and call site -> model of the largest part of its time.
        same_parameters: whether the parameters of the program are the same at all sizes.
    """
    by_site: dict[tuple[str, str], dict[int, AtSize]] = {}
    for growth in inputs:
        at_sizes = by_site.setdefault((growth.op, growth.site), {})
        for size in growth.sizes:
            at_sizes[size.ranks] = size.plus(at_sizes.get(size.ranks))
    n, rows, at_sizes_of_all = len(trace.ranks), list[Growth](), dict[int, AtSize]()
    for row in timed_by_node(trace, "site"):
        op, site = row.key
        at_sizes = dict(by_site.get((op, site), {}))
        at_sizes[RESULT] = AtSize(n, (row.comm_ns or 0.0) / n, (row.compute_ns or 0.0) / n, row.timed / n)
        at_sizes_of_all |= {key: size.plus(at_sizes_of_all.get(key)) for key, size in at_sizes.items()}
        rows.append(_compare_sizes(op, site, at_sizes, sizes, same_parameters, site_models.get((op, site))))
    sites_of_result = {(growth.op, growth.site) for growth in rows}
    for key in by_site.keys() - sites_of_result:
        for n, size in by_site[key].items():
            at_sizes_of_all[n] = size.plus(at_sizes_of_all.get(n))
    rows.sort(key=lambda growth: -growth.added_ns)
    in_mpi = {key: size._replace(compute_ns=0.0) for key, size in at_sizes_of_all.items()}
    computation = {key: _computation(size) for key, size in at_sizes_of_all.items()}
    sums = {ALL_CALLS: at_sizes_of_all, IN_MPI: in_mpi, COMPUTATION: computation}
    return [
        *(_compare_sizes(name, "", sizes_of, sizes, same_parameters) for name, sizes_of in sums.items()),
        *rows,
    ]


def _compare_sizes(
    op: str,
    site: str,
    at_sizes: dict[int, AtSize],
    sizes: Sequence[int],
    same_parameters: bool,
    model: GrowthModel | None = None,
) -> Growth:
    """Return a call site at its sizes, of which RESULT is compared with the largest input."""
    result, last = at_sizes[RESULT], at_sizes.get(sizes[-1], AtSize(sizes[-1], 0.0, 0.0, 0.0))
    before, after = last.time_ns, result.time_ns
    first = next((at_sizes[size] for size in sizes if size in at_sizes), last)
    recorded, extrapolated = (
        (_exponent(first, last), _exponent(last, result)) if same_parameters else (None, None)
    )
    computation_rises = same_parameters and _rises_again(*map(_computation, (first, last, result)))
    rises_again = computation_rises or (same_parameters and _rises_again(first, last, result))
    return Growth(
        op,
        site,
        (*(at_sizes.get(size) for size in sizes), result),
        after / before if before else None,
        result.timed / last.timed if last.timed else None,
        after - before,
        recorded,
        extrapolated,
        rises_again,
        computation_rises,
        model,
    )


def _computation(size: AtSize) -> AtSize:
    return size._replace(comm_ns=0.0)


def _rises_again(first: AtSize, last: AtSize, size_of_result: AtSize) -> bool:
    """Whether the time of a rank falls in the inputs and rises in the result."""
    recorded, extrapolated = _exponent(first, last), _exponent(last, size_of_result)
    return (recorded or 0.0) < MAX_FALLING and (extrapolated or 0.0) > MIN_RISING


def rising_computation(growth: Sequence[Growth]) -> tuple[float, str]:
    """Return the part of the computation that falls in the inputs and rises in the result, and most of it.

    Returns:
        The part, between 0 and 1; operation and call site with the largest one.
    """
    computed = [(row.sizes[-1], row) for row in growth if row.op not in (ALL_CALLS, IN_MPI, COMPUTATION)]
    sites = [(size.compute_ns, row) for size, row in computed if size is not None]
    total_ns = sum(time for time, _ in sites)
    rising = [(time, row) for time, row in sites if row.computation_rises]
    if not rising or not total_ns:
        return 0.0, ""
    _, most = max(rising, key=lambda pair: pair[0])
    return sum(time for time, _ in rising) / total_ns, f"{most.op}  {short_frame(most.site)}"


def _exponent(first: AtSize, last: AtSize) -> float | None:
    return exponent(first.ranks, first.time_ns, last.ranks, last.time_ns)


def exponent(ranks: float, time_ns: float, more_ranks: float, other_ns: float) -> float | None:
    """Return the power of the number of ranks with which a time grows; None: not known."""
    if ranks == more_ranks or time_ns <= 0 or other_ns <= 0:
        return None
    return log(other_ns / time_ns) / log(more_ranks / ranks)
