"""Two traces side by side: their calls and the computation between them, the largest differences first.

call sites that both have        the same row
call sites that one of them has  the same row if file or line changed: equal operation and function, in order
                                 of lines, and as many of them in both traces
computation                      the same row where it begins at the same line, or else after the same call in
                                 the same function, or else in the same function, in order of lines
different numbers of ranks       times, calls and bytes are compared per rank
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from scalatrace.report.costs.computation import computations, place_beginning
from scalatrace.report.costs.rows import JOIN, CostRow, by_node
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
    "site": ("after call", "after line"),
}
"""Names of the parts of a computation's key: the operation before it; or what is called where it begins."""

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
    """The time of a computation, or in the calls of a call site, in both traces.

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
    times = [*_computation(left, right, by, ranks), *_times_in(pairs, by)] if timed else []
    return Compared(ranks, different, len(pairs) - len(different), _with_shares(times))


def site_text(left: str, right: str) -> str:
    """Return a call site, and its place in the right trace where that is another one."""
    if not right or left == right:
        return short_site(left)
    if not left:
        return short_site(right)
    return f"{short_site(left)} → {split_frame(right).place or short_site(right)}"


def _ratio(left: float | None, right: float | None, ranks: ComparedRanks) -> float | None:
    return right / ranks.right / (left / ranks.left) if left and right else None


def _difference(left: float | None, right: float | None, ranks: ComparedRanks) -> float:
    return abs((right or 0) / ranks.right - (left or 0) / ranks.left)


def _join_rows(
    left: Mapping[Key, T], right: Mapping[Key, T], moved: Mapping[Key, Key]
) -> Iterator[tuple[Key, Key, T | None, T | None]]:
    """Yield the keys and values of both traces; `moved`: keys of the right trace -> of the left one."""
    theirs = {moved.get(key, key): key for key in right}
    for key in dict.fromkeys([*left, *theirs]):
        yield (
            key,
            theirs.get(key, key),
            left.get(key),
            right[theirs[key]] if key in theirs else None,
        )


def moved_sites(left: Iterable[Key], right: Iterable[Key]) -> dict[Key, Key]:
    """Return call sites of the right trace -> the same in the left one, where file or line changed."""
    return _match_unmatched(left, right, _call_and_function)


def _moved_places(left: Iterable[Key], right: Iterable[Key]) -> dict[Key, Key]:
    """Return places where computation begins in the right trace -> the same in the left one.

    They may differ in file and line, or in what is called there.
    """
    left, right = list(left), list(right)
    moved: dict[Key, Key] = {}
    for name_of in (_call_and_function, _line, _function):
        matched = set(moved.values())
        moved |= _match_unmatched(
            [key for key in left if key not in matched],
            [key for key in right if key not in moved],
            name_of,
        )
    return moved


def _call_and_function(key: Key) -> Key:
    name = _frame(key).name
    return (key[0], name) if name else ()


def _line(key: Key) -> Key:
    return key[1:] if _frame(key).line else ()


def _function(key: Key) -> Key:
    name = _frame(key).name
    return (name,) if name else ()


def _match_unmatched(
    left: Iterable[Key], right: Iterable[Key], name_of: Callable[[Key], Key]
) -> dict[Key, Key]:
    """Return keys of the right trace -> keys of equal name in the left one, if both have as many of it."""
    ours, theirs = (_list_unmatched(*keys, name_of) for keys in ((left, right), (right, left)))
    return {
        their_key: our_key
        for name in ours.keys() & theirs.keys()
        if len(ours[name]) == len(theirs[name])
        for our_key, their_key in zip(ours[name], theirs[name], strict=True)
    }


def _list_unmatched(
    keys: Iterable[Key], keys_of_other_trace: Iterable[Key], name_of: Callable[[Key], Key]
) -> dict[Key, list[Key]]:
    """Return the keys that the other trace does not have, by name if they have one, in order of lines."""
    other_keys = set(keys_of_other_trace)
    sets: dict[Key, list[Key]] = defaultdict(list)
    for key in keys:
        if key not in other_keys and (name := name_of(key)):
            sets[name].append(key)
    for same_name in sets.values():
        same_name.sort(key=lambda key: (_frame(key).file, _frame(key).number))
    return sets


def _frame(key: Key) -> Frame:
    return split_frame(key[1].split(JOIN)[0])


def _computation(left: Trace, right: Trace, by: str, ranks: ComparedRanks) -> Iterator[TimeDifference]:
    """Yield all computations of both traces; their shares are not known yet."""
    (a, left_places), (b, right_places) = (_computation_times(trace, by) for trace in (left, right))
    moved = _moved_places(a, b) if by == "site" else {}
    for left_key, right_key, x, y in _join_rows(a, b, moved):
        place = left_places[left_key] if x is not None else right_places[right_key]
        is_in_both = left_key == right_key and left_key in left_places and right_key in right_places
        if is_in_both and right_places[right_key] != place:  # most of it ends at another line there
            place = place_beginning((left_key[0], left_key[1]))
        yield TimeDifference(COMPUTATION, left_key, right_key, place, x, y, ranks)


def _times_in(pairs: Iterable[CallPair], by: str) -> Iterator[TimeDifference]:
    """Yield the times in calls."""
    for pair in pairs:
        place = site_text(pair.left_key[1], pair.right_key[1]) if by == "site" else ""
        yield TimeDifference(
            f"in {pair.left_key[0]}", pair.left_key, pair.right_key, place, pair.left.comm_ns,
            pair.right.comm_ns, pair.ranks,
        )  # fmt: skip


def _computation_times(trace: Trace, by: str) -> tuple[dict[Key, float], dict[Key, str]]:
    """Return the computation of each key in ns of all ranks, and the place of each."""
    times: dict[Key, float] = defaultdict(float)
    places: dict[Key, str] = {}
    for row in computations(trace.without_phases):
        if by == "site":
            times[row.where] = row.total_ns
            places.setdefault(row.where, row.name_or_calls)
            continue
        for (first, _), ns in row.times_ns.items():
            times[first[:1]] += ns
            places[first[:1]] = f"after {first[0]}"
    return times, places


def _with_shares(times: list[TimeDifference]) -> list[TimeDifference]:
    """Return the times that differ, with their shares, the largest first."""
    different = sorted(
        (each for each in times if each.difference_ns), key=lambda each: -abs(each.difference_ns)
    )
    whole_ns = sum(abs(each.difference_ns) for each in different)
    return [replace(each, share=abs(each.difference_ns) / whole_ns) for each in different]
