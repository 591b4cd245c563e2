"""Find trees and butterflies: loops over stages in which each rank has the partner at the next power of two.

In a binomial tree a rank sends in some stages, receives in others, and rests in the rest. Its calls alone do
not show that; its partners do: the stage is the exponent of the distance between the two.

    rank 5 of 8:  Send to 4 | Recv from 7 | Send to 1        stages 0, 1, 2
    rank 4 of 8:  Recv from 5 | Recv from 6 | Send to 0

In prefix sums and multigrid solvers a rank may have two partners in a stage.

    rank 2 of 8:  Send to 3, Recv from 1 | Send to 4, Recv from 0 | Send to 6
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd

from scalatrace.extrap.alignment.rank_tree import Key, RankNode
from scalatrace.extrap.alignment.sources import CallStage, Order, Sources

MAX_BODIES = 24
"""Different sequences of calls in one stage, of all trees."""

__all__ = ["MAX_BODIES", "StageGroup", "StagedCalls", "Stages", "staged_calls"]


@dataclass(frozen=True, slots=True)
class StagedCalls:
    """Per call of a rank, in order: its stage (-1: none), the number of stages, and the communicator."""

    stage: Sequence[int] = ()
    stages: Sequence[int] = ()
    comm: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class StageGroup:
    """The calls of one stage, from `start` to `stop`.

    Attributes:
        stages: their number.
        kind: equal for trees that are the same loop: communicator; with `by_site` also direction and tree.
        down: whether the stages of its tree descend.
        width: calls that are one block of the loop's body.
    """

    start: int
    stop: int
    stage: int
    stages: int
    kind: tuple[int, ...]
    down: bool
    width: int

    @property
    def iteration(self) -> int:
        """Its number in the loop."""
        return self.stages - 1 - self.stage if self.down else self.stage

    @property
    def blocks(self) -> Iterator[tuple[int, int]]:
        """Start and end of its blocks."""
        return ((at, at + self.width) for at in range(self.start, self.stop, self.width))


def staged_calls(
    leaves: Mapping[int, Sequence[RankNode]], orders: Mapping[int, Order], sources: Mapping[int, Sources]
) -> dict[int, StagedCalls] | None:
    """Return the stages of all calls of all ranks, by point; None without trees.

    A call site is part of a tree when all its partners, on all ranks of all traces, are at powers of two, and
    not always at the same.
    """
    stages_of = {
        point: [sources[point].stages(number) for number in range(len(leaves[point]))] for point in leaves
    }
    seen: dict[Key, set[int]] = {}
    for point, rows in stages_of.items():
        for leaf, row in zip(leaves[point], rows, strict=True):
            assert leaf.key is not None
            seen.setdefault(leaf.key, set()).update(stage.number for stage in row)
    trees = {key for key, numbers in seen.items() if -1 not in numbers and len(numbers) > 1}
    if not trees:
        return None
    result = {}
    for point, rows in stages_of.items():
        calls = [
            rows[leaf][k] if leaves[point][leaf].key in trees else CallStage() for leaf, k in orders[point]
        ]
        result[point] = StagedCalls(*map(list, zip(*calls, strict=True))) if calls else StagedCalls()
    return result


class Stages:
    """Division of the staged calls of all ranks into trees."""

    def __init__(
        self, calls: Mapping[int, StagedCalls], keys: Mapping[int, Sequence[Key]], by_site: bool
    ) -> None:
        """Find how many calls a stage has, and whether stages ascend.

        Args:
            calls, keys: of each rank, by point.
            by_site: whether each call site has at most one call in a stage, and is called or not on
                conditions of its own. Else all ranks make equally many calls in a stage.
        """
        self._calls, self._keys, self._by_site = calls, keys, by_site
        runs = {point: list(_runs(staged)) for point, staged in calls.items()}
        self._width = 1 if by_site else reduce(gcd, (b - a for spans in runs.values() for a, b in spans), 0)
        self._cut = {point: list(self._groups(point, spans)) for point, spans in runs.items()}
        self._down = self._directions()
        self._tree_of: dict[Key, int] = {}  # not known while the trees that join call sites are sought
        if by_site:
            self._tree_of = self._joined_sites()

    @property
    def has_unequal_stages(self) -> bool:
        """Return whether a rank makes more calls in some stages than in others."""
        lengths = {stop - start for own in self._cut.values() for start, stop in own}
        return len(lengths) > 1

    def trees(self, point: int) -> list[list[StageGroup]]:
        """Return the trees that a rank takes part in, each with its stages in order."""
        result: list[list[StageGroup]] = []
        end = -1
        for start, stop in self._split(point):
            group = self._group(point, start, stop)
            last = result[-1][-1] if result else None
            if (
                last is not None
                and start == end
                and group.kind == last.kind
                and last.iteration < group.iteration
            ):
                result[-1].append(group)
            else:
                result.append([group])
            end = stop
        return result

    def _group(self, point: int, start: int, stop: int) -> StageGroup:
        calls = self._calls[point]
        down = self._is_down(point, start)
        kind: tuple[int, ...] = (calls.comm[start],)
        if self._by_site:
            kind = (*kind, int(down), self._tree_of.get(self._keys[point][start], 0))
        return StageGroup(start, stop, calls.stage[start], calls.stages[start], kind, down, self._width)

    def _groups(self, point: int, runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Start and end of the calls of one stage; a call site that comes again begins another tree."""
        keys = self._keys[point]
        for start, stop in runs:
            if not self._by_site:
                yield from ((at, at + self._width) for at in range(start, stop, self._width))
                continue
            first = start
            for at in range(start + 1, stop):
                if keys[at] in keys[first:at]:
                    yield first, at
                    first = at
            yield first, stop

    def _split(self, point: int) -> Iterator[tuple[int, int]]:
        """The groups, divided where an ascending tree is followed by a descending one in the same stage."""
        for start, stop in self._cut[point]:
            first = start
            for at in range(start + 1, stop) if self._by_site else ():
                if self._is_down(point, at) != self._is_down(point, first):
                    yield first, at
                    first = at
            yield first, stop

    def _is_down(self, point: int, at: int) -> bool:
        return self._keys[point][at] in self._down if self._by_site else bool(self._down)

    def _directions(self) -> set[Key]:
        """The call sites whose stages descend: all or none, unless they have conditions of their own."""
        rises: Counter[Key] = Counter()
        for point, cut in self._cut.items():
            stage, keys = self._calls[point].stage, self._keys[point]
            for (start, stop), (next_start, end) in pairwise(cut):
                by = stage[next_start] - stage[start]
                for at in (*range(start, stop), *range(next_start, end)) if by else ():
                    rises[keys[at]] += 1 if by > 0 else -1
        if not self._by_site:
            return set(rises) if sum(rises.values()) < 0 else set()
        return {key for key, count in rises.items() if count < 0}

    def _joined_sites(self) -> dict[Key, int]:
        """For each call site a number, equal for those of one tree."""
        numbers: dict[Key, int] = {}
        for point, keys in self._keys.items():
            for tree in self.trees(point):
                joined = {
                    numbers.setdefault(key, len(numbers)) for key in keys[tree[0].start : tree[-1].stop]
                }
                if len(joined) > 1:
                    numbers = {k: min(joined) if n in joined else n for k, n in numbers.items()}
        return numbers


def _runs(calls: StagedCalls) -> Iterator[tuple[int, int]]:
    """Start and end of the calls in a row that have one stage in one communicator."""
    stages = list(zip(calls.stage, calls.comm, strict=True))
    start = 0
    for at in range(1, len(stages) + 1):
        if at == len(stages) or stages[at] != stages[start]:
            if stages[start][0] >= 0:
                yield start, at
            start = at
