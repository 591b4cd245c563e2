"""Times of call sites in the traces that were extrapolated and in the result, and how they grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from operator import add
from typing import NamedTuple

from scalatrace.report.costs.rows import timed_by_node
from scalatrace.trace.model.trace import Trace

__all__ = ["RESULT", "AtSize", "Growth", "Law", "SiteAtSizes", "growth_of"]

RESULT = 0
"""Stands for the number of ranks of the result, which may be that of an input, too."""

ALL_CALLS, IN_MPI, COMPUTATION = "all calls", "in MPI", "computation"
"""Names of the sums over all call sites: all time, the time in calls, and that before them."""

MAX_FALLING, MIN_RISING = -0.05, 0.05
"""Exponents up to which a time falls with the ranks, and from which on it rises."""


@dataclass(frozen=True)
class Law:
    """The fitted model of the largest part of a call site's time.

    Attributes:
        formula: mean time of a call in ns, over the number of ranks.
        part: which part, such as "in the calls, after Send  app.py:12:main".
    """

    formula: str
    part: str


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
        turns: whether the time falls in the inputs and rises in the result.
        law: of its largest part; None: not fitted.
    """

    op: str
    site: str
    sizes: tuple[AtSize | None, ...]
    factor: float | None
    timed_factor: float | None
    added_ns: float
    recorded: float | None = None
    extrapolated: float | None = None
    turns: bool = False
    law: Law | None = None


def growth_of(
    trace: Trace,
    inputs: Sequence[SiteAtSizes],
    sizes: Sequence[int],
    laws: Mapping[tuple[str, str], Law],
    alike: bool = True,
) -> list[Growth]:
    """Return the sums over all calls, then the call sites of a result, those that add most time first.

    Args:
        inputs: call sites of the traces that were extrapolated.
        sizes: numbers of ranks of these traces, ascending.
        laws: operation and call site -> law of the largest part of its time.
        alike: whether the parameters of the program are the same at all sizes.
    """
    known: dict[tuple[str, str], dict[int, AtSize]] = {}
    for one in inputs:
        there = known.setdefault((one.op, one.site), {})
        for size in one.sizes:
            there[size.ranks] = size.plus(there.get(size.ranks))
    n, rows, whole = len(trace.ranks), list[Growth](), dict[int, AtSize]()
    for row in timed_by_node(trace, "site"):
        op, site = row.key
        there = dict(known.get((op, site), {}))
        there[RESULT] = AtSize(n, (row.comm_ns or 0.0) / n, (row.compute_ns or 0.0) / n, row.timed / n)
        whole |= {key: size.plus(whole.get(key)) for key, size in there.items()}
        rows.append(_compared(op, site, there, sizes, alike, laws.get((op, site))))
    here = {(one.op, one.site) for one in rows}
    for key in known.keys() - here:
        for n, size in known[key].items():
            whole[n] = size.plus(whole.get(n))
    rows.sort(key=lambda one: -one.added_ns)
    in_mpi = {key: size._replace(compute_ns=0.0) for key, size in whole.items()}
    computation = {key: size._replace(comm_ns=0.0) for key, size in whole.items()}
    sums = {ALL_CALLS: whole, IN_MPI: in_mpi, COMPUTATION: computation}
    return [*(_compared(name, "", sizes_of, sizes, alike) for name, sizes_of in sums.items()), *rows]


def _compared(
    op: str, site: str, there: dict[int, AtSize], sizes: Sequence[int], alike: bool, law: Law | None = None
) -> Growth:
    """Return a call site at its sizes, of which RESULT is compared with the largest input."""
    here, last = there[RESULT], there.get(sizes[-1], AtSize(sizes[-1], 0.0, 0.0, 0.0))
    before, after = last.time_ns, here.time_ns
    first = next((there[size] for size in sizes if size in there), last)
    recorded, extrapolated = (_exponent(first, last), _exponent(last, here)) if alike else (None, None)
    turns = recorded is not None and extrapolated is not None
    turns = turns and (recorded or 0) < MAX_FALLING and (extrapolated or 0) > MIN_RISING
    return Growth(
        op,
        site,
        (*(there.get(size) for size in sizes), here),
        after / before if before else None,
        here.timed / last.timed if last.timed else None,
        after - before,
        recorded,
        extrapolated,
        turns,
        law,
    )


def _exponent(first: AtSize, last: AtSize) -> float | None:
    """Return the power of the number of ranks with which the time of a rank grows; None: not known."""
    if first.ranks == last.ranks or first.time_ns <= 0 or last.time_ns <= 0:
        return None
    return log(last.time_ns / first.time_ns) / log(last.ranks / first.ranks)
