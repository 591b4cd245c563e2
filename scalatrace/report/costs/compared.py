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

from scalatrace.report.costs.computation import UNKNOWN, SiteCall, computation_after, computation_place
from scalatrace.report.costs.rows import JOIN, CostRow, by_node, site_of
from scalatrace.report.style import short_site
from scalatrace.trace.model.callsite import Frame, split_frame
from scalatrace.trace.model.trace import Trace

__all__ = [
    "COMPUTATION",
    "COMPUTATION_KEYS",
    "CallPair",
    "Compared",
    "ComparedRanks",
    "Key",
    "TimeDifference",
    "compare",
    "moved_sites",
    "site_text",
]  # fmt: skip

Key = tuple[str, ...]
T = TypeVar("T")

COMPUTATION_KEYS: dict[str, tuple[str, ...]] = {
    "op": ("after operation",),
    "site": ("after operation", "after call site"),
}
"""Names of the parts of a computation's key: the call before it."""

COMPUTATION = "computation"
"""What a computation is called in the tables; times of calls are `in Send`."""


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
class TimeDifference:
    """The time of the computation after a call, or in the calls of a call site, in both traces.

    Attributes:
        kind: COMPUTATION, or "in" and the operation.
        left_key, right_key: as COMPUTATION_KEYS or KEYS name them; they differ where files or lines changed.
        place: function and lines of a computation, or the call site.
        left_ns, right_ns: of all ranks; None where one trace has none.
        share: its part of all differences of times, between 0 and 1.
    """

    kind: str
    left_key: Key
    right_key: Key
    place: str
    left_ns: float | None
    right_ns: float | None
    ranks: ComparedRanks
    share: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Time per rank of the right trace over that of the left one."""
        return _ratio(self.left_ns, self.right_ns, self.ranks)

    @property
    def rank_ns(self) -> tuple[float, float]:
        """Means of a rank in both traces."""
        return (self.left_ns or 0.0) / self.ranks.left, (self.right_ns or 0.0) / self.ranks.right

    @property
    def difference_ns(self) -> float:
        """How much longer (above 0) or shorter a mean rank of the right trace takes."""
        left, right = self.rank_ns
        return right - left

    def row(self) -> dict[str, Any]:
        """Return the columns of TIME_DIFFERENCES; times are means of a rank."""
        left, right = self.rank_ns
        return {
            "time": self.kind, "place": self.place, "left_ns": left, "right_ns": right,
            "difference_ns": self.difference_ns, "time_ratio": self.ratio, "share_of_difference": self.share,
        }  # fmt: skip

    def plain(self, by: str) -> dict[str, Any]:
        """Return a computation as plain data; times are those of all ranks."""
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
        times: computation and times in calls that differ, likewise; empty if times are not compared.
    """

    ranks: ComparedRanks
    calls: list[CallPair]
    equal: int
    times: list[TimeDifference]


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
    times = [*_computation(left, right, by, ranks, moved), *_times_in(pairs, by)] if timed else []
    return Compared(ranks, different, len(pairs) - len(different), _with_shares(times))


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
) -> Iterator[TimeDifference]:
    """Yield all computations of both traces; their shares are not known yet."""
    places: dict[Key, str] = {}
    a, b = (_computation_times(trace, by, places) for trace in (left, right))
    for left_key, right_key, x, y in _join_rows(a, b, moved):
        place = places[left_key if x is not None else right_key]
        yield TimeDifference(COMPUTATION, left_key, right_key, place, x, y, ranks)


def _times_in(pairs: Iterable[CallPair], by: str) -> Iterator[TimeDifference]:
    """Yield the times in calls."""
    for pair in pairs:
        place = site_text(pair.left_key[1], pair.right_key[1]) if by == "site" else ""
        yield TimeDifference(
            f"in {pair.left_key[0]}", pair.left_key, pair.right_key, place, pair.left.comm_ns,
            pair.right.comm_ns, pair.ranks,
        )  # fmt: skip


def _computation_times(trace: Trace, by: str, places: dict[Key, str]) -> dict[Key, float]:
    """Return the computation of each key in ns of all ranks, and note the place of each in `places`.

    A place is that of the longest computation of its key.
    """
    times: dict[Key, float] = {}
    longest: dict[Key, tuple[float, SiteCall, SiteCall]] = {}
    for first, following in computation_after(trace.without_phases).items():
        key = first[:1] if by == "op" else _call_key(first)
        times[key] = times.get(key, 0.0) + sum(following.values())
        last = max(following, key=lambda call: following[call])
        if key not in longest or following[last] > longest[key][0]:
            longest[key] = following[last], first, last
    for key, (_, first, last) in longest.items():
        places.setdefault(key, f"after {first[0]}" if by == "op" else _place(first, last))
    return times


def _call_key(call: SiteCall) -> Key:
    return call[0], site_of(call[1]) if call[1] else ""


def _place(first: SiteCall, last: SiteCall) -> str:
    place = computation_place(first, last)
    if place != UNKNOWN:
        return place
    sites = (f"{op} {short_site(site)}" for op, site in map(_call_key, (first, last)))
    return " to ".join(sites)


def _with_shares(times: list[TimeDifference]) -> list[TimeDifference]:
    """Return the times that differ, with their shares, the largest first."""
    different = sorted(
        (each for each in times if each.difference_ns), key=lambda each: -abs(each.difference_ns)
    )
    whole_ns = sum(abs(each.difference_ns) for each in different)
    return [replace(each, share=abs(each.difference_ns) / whole_ns) for each in different]
