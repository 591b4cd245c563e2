"""Two traces side by side: their calls and the computation between them, the largest differences first.

call sites that both have        the same row
call sites that one of them has  the same row if file or line changed: equal operation and function, in order
                                 of lines, and as many of them in both traces
different numbers of ranks       times, calls and bytes are compared per rank
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from scalatrace.report.costs.computation import UNKNOWN, SiteCall, computation_between, computation_place
from scalatrace.report.costs.rows import JOIN, CostRow, by_node, site_of
from scalatrace.report.style import short_site
from scalatrace.trace.model.callsite import Frame, split_frame
from scalatrace.trace.model.trace import Trace

__all__ = [
    "COMPUTATION_KEYS",
    "CallPair",
    "Compared",
    "ComparedRanks",
    "ComputationPair",
    "Key",
    "compare",
    "moved_sites",
    "site_text",
]  # fmt: skip

Key = tuple[str, ...]
T = TypeVar("T")

COMPUTATION_KEYS: dict[str, tuple[str, ...]] = {
    "op": ("operation", "after operation"),
    "site": ("operation", "call site", "after operation", "after call site"),
}
"""Names of the parts of a computation's key: the call that ends it, and the call before that."""


class ComparedRanks(NamedTuple):
    """Numbers of ranks of the two traces."""

    left: int
    right: int

    @property
    def differ(self) -> bool:
        """Whether amounts have to be compared per rank."""
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class CallPair:
    """The calls of one key in both traces; an empty row where one has no such call.

    Attributes:
        left_key, right_key: as KEYS names them; they differ where files or lines changed.
    """

    left_key: Key
    right_key: Key
    left: CostRow
    right: CostRow
    ranks: ComparedRanks

    def differs(self, timed: bool) -> bool:
        """Whether a number per rank is not the same."""
        a, b = self.left, self.right
        names = ["calls", "sent"] + (["comm_ns", "compute_ns"] if timed else [])
        return any(
            (getattr(a, name) or 0) * self.ranks.right != (getattr(b, name) or 0) * self.ranks.left
            or (getattr(a, name) is None) != (getattr(b, name) is None)
            for name in names
        )

    @property
    def time_ratio(self) -> float | None:
        """Time in MPI per rank of the right trace over that of the left one; None where one has none."""
        return _ratio(self.left.comm_ns, self.right.comm_ns, self.ranks)

    @property
    def weight(self) -> tuple[float, float, float]:
        """How much it differs per rank: time first, then bytes and calls."""
        amounts = [(getattr(self.left, n), getattr(self.right, n)) for n in ("comm_ns", "sent", "calls")]
        time, sent, calls = (_difference(a, b, self.ranks) for a, b in amounts)
        return time, sent, calls


@dataclass(frozen=True, slots=True)
class ComputationPair:
    """The computation between two calls in both traces.

    Attributes:
        left_key, right_key: as COMPUTATION_KEYS names them; they differ where files or lines changed.
        place: its lines, else both calls.
        left_ns, right_ns: of all ranks; None where one trace has none.
        share: its part of all differences of times, between 0 and 1.
    """

    left_key: Key
    right_key: Key
    place: str
    left_ns: float | None
    right_ns: float | None
    ranks: ComparedRanks
    share: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Computation per rank of the right trace over that of the left one."""
        return _ratio(self.left_ns, self.right_ns, self.ranks)

    @property
    def difference_ns(self) -> float:
        """How much longer or shorter it is per rank."""
        return _difference(self.left_ns, self.right_ns, self.ranks)

    def plain(self, by: str) -> dict[str, Any]:
        """Return it as plain data."""
        facts: dict[str, Any] = dict(zip(COMPUTATION_KEYS[by], self.left_key, strict=True))
        for side, ns in (("left", self.left_ns), ("right", self.right_ns)):
            facts[side] = {"compute_ns": None if ns is None else round(ns)}
        return {**facts, "place": self.place, "time_ratio": self.ratio, "share_of_difference": self.share}


@dataclass(frozen=True)
class Compared:
    """What differs.

    Attributes:
        calls: rows that differ, the largest differences first.
        equal: number of rows that do not.
        computation: computation that differs, likewise; empty if times are not compared.
    """

    ranks: ComparedRanks
    calls: list[CallPair]
    equal: int
    computation: list[ComputationPair]


def compare(left: Trace, right: Trace, by: str, timed: bool) -> Compared:
    """Compare two traces by "op" or "site", without the times of start-up and shut-down.

    Raises:
        LimitError: very many ranks have different parameters or trip counts.
    """
    ranks = ComparedRanks(len(left.ranks), len(right.ranks))
    a, b = ({row.key: row for row in by_node(trace.without_phases, by)} for trace in (left, right))
    moved = moved_sites(a, b) if by == "site" else {}
    pairs = [
        CallPair(left_key, right_key, x or CostRow(left_key), y or CostRow(right_key), ranks)
        for left_key, right_key, x, y in _join_rows(a, b, moved)
    ]
    different = [pair for pair in pairs if pair.differs(timed)]
    different.sort(key=lambda pair: pair.weight, reverse=True)
    computation = _computation(left, right, by, ranks, moved) if timed else []
    total_weight = sum(pair.weight[0] for pair in pairs) + sum(pair.difference_ns for pair in computation)
    return Compared(ranks, different, len(pairs) - len(different), _with_shares(computation, total_weight))


def site_text(left: str, right: str) -> str:
    """Return a call site, and its place in the right trace where that is another one."""
    if not right or left == right:
        return short_site(left)
    if not left:
        return short_site(right)
    place = split_frame(right)
    file, line = place.file.rpartition("/")[2], place.line
    return f"{short_site(left)} → {file}:{line}" if line else f"{short_site(left)} → {short_site(right)}"


def _ratio(left: float | None, right: float | None, ranks: ComparedRanks) -> float | None:
    return right / ranks.right / (left / ranks.left) if left and right else None


def _difference(left: float | None, right: float | None, ranks: ComparedRanks) -> float:
    return abs((right or 0) / ranks.right - (left or 0) / ranks.left)


def _join_rows(
    left: Mapping[Key, T], right: Mapping[Key, T], moved: Mapping[Key, Key]
) -> Iterator[tuple[Key, Key, T | None, T | None]]:
    """Yield the keys and values of both traces; `moved`: call sites of the right trace -> of the left one."""
    theirs = {_in_left(key, moved): key for key in right}
    for key in dict.fromkeys([*left, *theirs]):
        yield (
            key,
            theirs.get(key, key),
            left.get(key),
            right[theirs[key]] if key in theirs else None,
        )


def _in_left(key: Key, moved: Mapping[Key, Key]) -> Key:
    """Return a key of the right trace with the call sites of the left one; it has a call site or two."""
    return tuple(part for i in range(0, len(key), 2) for part in moved.get(key[i : i + 2], key[i : i + 2]))


def moved_sites(left: Iterable[Key], right: Iterable[Key]) -> dict[Key, Key]:
    """Return call sites of the right trace -> the same in the left one, where file or line changed."""
    ours, theirs = _list_unmatched(left, right), _list_unmatched(right, left)
    return {
        their_site: our_site
        for name in ours.keys() & theirs.keys()
        if len(ours[name]) == len(theirs[name])
        for our_site, their_site in zip(ours[name], theirs[name], strict=True)
    }


def _list_unmatched(keys: Iterable[Key], keys_of_other_trace: Iterable[Key]) -> dict[Key, list[Key]]:
    """Return the calls that the other trace does not have, by operation and function, in order of lines."""
    other_keys = set(keys_of_other_trace)
    sets: dict[Key, list[Key]] = defaultdict(list)
    for key in keys:
        if key not in other_keys and (name := _frame(key).name):
            sets[key[0], name].append(key)
    for calls in sets.values():
        calls.sort(key=lambda key: (_frame(key).file, _frame(key).number))
    return sets


def _frame(key: Key) -> Frame:
    return split_frame(key[1].split(JOIN)[0])


def _computation(
    left: Trace, right: Trace, by: str, ranks: ComparedRanks, moved: Mapping[Key, Key]
) -> list[ComputationPair]:
    """Return all pairs of computations; their shares are not known yet."""
    places: dict[Key, str] = {}
    a, b = (_times(trace, by, places) for trace in (left, right))
    return [
        ComputationPair(left_key, right_key, places[left_key if x is not None else right_key], x, y, ranks)
        for left_key, right_key, x, y in _join_rows(a, b, moved)
    ]


def _times(trace: Trace, by: str, places: dict[Key, str]) -> dict[Key, float]:
    """Return the computation of each key in ns of all ranks, and note the place of each in `places`."""
    times: dict[Key, float] = {}
    for (first, last), ns in computation_between(trace.without_phases).items():
        key = (last[0], first[0]) if by == "op" else (*_call_key(last), *_call_key(first))
        times[key] = times.get(key, 0.0) + ns
        if key not in places:
            places[key] = f"{first[0]} to {last[0]}" if by == "op" else _place(first, last)
    return times


def _call_key(call: SiteCall) -> Key:
    return call[0], site_of(call[1]) if call[1] else ""


def _place(first: SiteCall, last: SiteCall) -> str:
    place = computation_place(first, last)
    if place != UNKNOWN:
        return place
    sites = (f"{op} {short_site(site)}" for op, site in map(_call_key, (first, last)))
    return " to ".join(sites)


def _with_shares(computation: list[ComputationPair], whole_ns: float) -> list[ComputationPair]:
    """Return the computation that differs, with its shares, the largest first."""
    different = [pair for pair in computation if pair.difference_ns]
    different.sort(key=lambda pair: -pair.difference_ns)
    return [replace(pair, share=pair.difference_ns / whole_ns) for pair in different]
