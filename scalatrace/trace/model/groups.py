"""Elastic values of groups of ranks, and of single ranks: `Groups` and `Columns`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["Columns", "Groups"]


MAX_KEPT_RUNS, MAX_KEPT = 1 << 15, 256
"""Runs of ranks up to which an index is kept for further values of the same groups; indices that are kept."""

_Index = tuple[list[int], list[int], list[int], RankList]
"""Starts and ends of the runs of ranks of all groups, in order, the number of each one's group, all ranks."""


def _index_of(ranklists: tuple[RankList, ...]) -> _Index:
    """Return where the ranks of groups are. Raises ValueError as `Groups`."""
    runs = sorted((start, stop, i) for i, ranks in enumerate(ranklists) for start, stop in ranks.runs)
    starts, stops, numbers = ([run[k] for run in runs] for k in range(3))
    if any(stop > start for stop, start in zip(stops, starts[1:], strict=False)):
        raise ValueError("the groups of a value overlap")
    firsts = [ranks.first if len(ranks) else -1 for ranks in ranklists]
    if -1 in firsts or firsts != sorted(firsts):
        raise ValueError("the groups of a value are empty or out of order")
    return starts, stops, numbers, RankList.from_runs(zip(starts, stops, strict=True))


_kept_index = lru_cache(maxsize=MAX_KEPT)(_index_of)


class Groups:
    """Value vectors of disjoint groups of ranks, ordered by their first rank."""

    __slots__ = ("_index", "groups")

    def __init__(self, groups: Sequence[tuple[RankList, Vec]]) -> None:
        """Check the groups. Raises ValueError if they are empty, overlap, or are out of order."""
        self.groups = tuple(groups)
        ranklists = tuple(ranks for ranks, _ in self.groups)
        small = sum(len(ranks.runs) for ranks in ranklists) <= MAX_KEPT_RUNS
        self._index = _kept_index(ranklists) if small else _index_of(ranklists)

    def at(self, rank: int) -> Vec | None:
        """Return the value vector of a rank; None if it is in no group."""
        starts, stops, numbers, _ = self._index
        i = bisect_right(starts, rank) - 1
        return self.groups[numbers[i]][1] if i >= 0 and rank < stops[i] else None

    @property
    def ranks(self) -> RankList:
        """All ranks that are in some group."""
        return self._index[3]

    def __eq__(self, other: object) -> bool:
        return self.groups == other.groups if isinstance(other, Groups) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.groups)

    def __repr__(self) -> str:
        return f"Groups({self})"

    def __str__(self) -> str:
        return "{" + ", ".join(f"{ranks}: {vec}" for ranks, vec in self.groups) + "}"


class Columns:
    """One constant value per rank: the i-th rank of `ranks` has the i-th value of `vec`."""

    __slots__ = ("_values", "ranks", "vec")

    def __init__(self, ranks: RankList, vec: Vec) -> None:
        """Check the values. Raises ValueError if there are fewer than ranks."""
        if vec.length is not None and vec.length < len(ranks):
            raise ValueError(f"a value has only {vec.length} entries for {len(ranks)} ranks")
        self.ranks, self.vec = ranks, vec
        self._values: tuple[int, ...] | None = None

    def value(self, rank: int) -> int | None:
        """Return the value of a rank; None if it has none."""
        if rank not in self.ranks:
            return None
        if self._values is None:
            if self.vec.constant is not None or len(self.vec.terms) <= 8:  # type: ignore[arg-type]
                return self.vec[self.ranks.index(rank)]
            self._values = self.vec.first(len(self.ranks))
        return self._values[self.ranks.index(rank)]

    def at(self, rank: int) -> Vec | None:
        """Return the value of a rank as a vec; None if it has none."""
        value = self.value(rank)
        return None if value is None else Vec(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns):
            return NotImplemented
        return self.ranks == other.ranks and self.vec == other.vec

    def __hash__(self) -> int:
        return hash((self.ranks, self.vec))

    def __repr__(self) -> str:
        return f"Columns({self})"

    def __str__(self) -> str:
        return f"{{each {self.ranks}: {self.vec}}}"
