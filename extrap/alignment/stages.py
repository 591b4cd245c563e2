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
from typing import NamedTuple

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


class StageGroup(NamedTuple):
    """The calls of one stage, from `start` to `stop`.

    Attributes:
        stages: their number.
        kind: equal for trees that are the same loop: communicator and tree; with `by_site` also direction.
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
    not always at the same. Calls that complete requests belong to the stage in which these were made.
    """
    calls_of, keys_of = {}, {}
    for point, own in leaves.items():
        rows = [sources[point].stages(number) for number in range(len(own))]
        calls_of[point] = _with_completions(
            [rows[leaf][k] for leaf, k in orders[point]], orders[point], sources[point]
        )
        keys_of[point] = [own[leaf].key for leaf, _ in orders[point]]
    seen: dict[Key | None, set[int]] = {}
    for point, calls in calls_of.items():
        for key, call in zip(keys_of[point], calls, strict=True):
            seen.setdefault(key, set()).add(call.number)
    trees = {key for key, numbers in seen.items() if -1 not in numbers and len(numbers) > 1}
    if not trees:
        return None
    result, known = {}, dict[StagedCalls, StagedCalls]()  # ranks with equal stages share them
    for point, calls in calls_of.items():
        staged = [
            call if key in trees else CallStage() for key, call in zip(keys_of[point], calls, strict=True)
        ]
        shared = StagedCalls(*zip(*staged, strict=True)) if staged else StagedCalls()
        result[point] = known.setdefault(shared, shared)
    return result


def _with_completions(calls: Sequence[CallStage], order: Order, sources: Sources) -> list[CallStage]:
    """Return the calls of a rank with those that complete requests in the stage of the calls that made them.

    A call that completes none is in the stage of the calls before it, or in the next one if it was there.
    """
    if not any(sources.completes_all(leaf) for leaf in {leaf for leaf, _ in order}):
        return list(calls)
    result: list[CallStage] = []
    open_requests: list[CallStage] = []
    last, completed = CallStage(), set[int]()
    for call, (leaf, k) in zip(calls, order, strict=True):
        if sources.completes_some(leaf):
            return list(calls)  # which requests are open then depends on timing
        ages = sources.requests(leaf)
        if ages is None:
            if sources.makes_request(leaf):
                open_requests.append(call)
            if call != last:
                last, completed = call, set()
        else:
            done = {age for age in ages[k] if 0 <= age < len(open_requests)}
            stages = {open_requests[-1 - age] for age in done}
            open_requests = [
                stage
                for age, stage in zip(range(len(open_requests) - 1, -1, -1), open_requests, strict=True)
                if age not in done
            ]
            if len(stages) == 1:
                call = stages.pop()
            elif not ages[k] and last.number >= 0:
                call = last._replace(number=last.number + 1) if leaf in completed else last
            if call != last:
                last, completed = call, set()
            completed.add(leaf)
        result.append(call)
    return result


class Stages:
    """Division of the staged calls of all ranks into trees."""

    def __init__(
        self,
        calls: Mapping[int, StagedCalls],
        keys: Mapping[int, Sequence[Key]],
        equal_points: Sequence[Sequence[int]],
        by_site: bool,
    ) -> None:
        """Find how many calls a stage has, and whether stages ascend.

        Args:
            calls, keys: of each rank, by point.
            equal_points: those with equal calls and keys, of which only the first is examined.
            by_site: whether each call site has at most one call in a stage, and is called or not on
                conditions of its own. Else all ranks make equally many calls in a stage.
        """
        self._counts = {points[0]: len(points) for points in equal_points}
        self._calls, self._by_site = calls, by_site
        self._keys = {point: keys[point] for point in self._counts}
        runs = {point: list(_runs(calls[point])) for point in self._counts}
        self._width = 1 if by_site else reduce(gcd, (b - a for spans in runs.values() for a, b in spans), 0)
        self._cut = {point: list(self._groups(point, spans)) for point, spans in runs.items()}
        self._down = self._directions()
        self._tree_of: dict[Key, int] = {}  # not known while the trees that join call sites are sought
        self._tree_of = self._joined_sites()

    @property
    def has_unequal_stages(self) -> bool:
        """Return whether a rank makes more calls in some stages than in others."""
        lengths = {stop - start for own in self._cut.values() for start, stop in own}
        return len(lengths) > 1

    def trees(self, point: int) -> list[list[StageGroup]]:
        """Return the trees that a rank, the first of equal ones, takes part in: their stages in order."""
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
        kind: tuple[int, ...] = (calls.comm[start], self._tree_of.get(self._keys[point][start], 0))
        if self._by_site:
            kind = (*kind, int(down))
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
            stage, keys, count = self._calls[point].stage, self._keys[point], self._counts[point]
            for (start, stop), (next_start, end) in pairwise(cut):
                by = stage[next_start] - stage[start]
                for at in (*range(start, stop), *range(next_start, end)) if by else ():
                    rises[keys[at]] += count if by > 0 else -count
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
