"""Find trees and butterflies: loops over stages in which each rank has the partner at the next power of two.

In a binomial tree a rank sends in some stages, receives in others, and rests in the rest. Its calls alone do
not show that; its partners do: the stage is the bit in which the numbers of the two ranks differ.

    rank 5 of 8:  Send to 4 | Recv from 7 | Send to 1        stages 0, 1, 2
    rank 4 of 8:  Recv from 5 | Recv from 6 | Send to 0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd

from scalatrace.extrap.alignment.rank_tree import Key, RankNode
from scalatrace.extrap.alignment.sources import Order, Sources

MAX_BODIES = 24
"""Different sequences of calls in one stage of trees on one communicator, in all."""

__all__ = ["MAX_BODIES", "Group", "StagedCalls", "Stages", "staged_calls"]


@dataclass(frozen=True, slots=True)
class StagedCalls:
    """Of each call of a rank, in order: the stage (-1: none), the number of stages, and the communicator."""

    stage: Sequence[int] = ()
    stages: Sequence[int] = ()
    comm: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The calls of one stage, from `start` on, the number of stages, and the communicator."""

    start: int
    stage: int
    stages: int
    comm: int


def staged_calls(
    leaves: Mapping[int, Sequence[RankNode]], orders: Mapping[int, Order], sources: Mapping[int, Sources]
) -> dict[int, StagedCalls] | None:
    """The stages of all calls of all ranks (by point); None when there are no trees.

    A call site is part of a tree when all its partners, on all ranks of all traces, are at powers of two, and
    not always at the same.
    """
    found = {
        point: [sources[point].stages(number) for number in range(len(leaves[point]))] for point in leaves
    }
    seen: dict[Key, set[int]] = {}
    for point, rows in found.items():
        for leaf, row in zip(leaves[point], rows, strict=True):
            assert leaf.key is not None
            seen.setdefault(leaf.key, set()).update(stage for stage, *_ in row)
    trees = {key for key, stages in seen.items() if -1 not in stages and len(stages) > 1}
    if not trees:
        return None
    result = {}
    for point, rows in found.items():
        calls = [
            rows[leaf][k] if leaves[point][leaf].key in trees else (-1, 0, 0) for leaf, k in orders[point]
        ]
        result[point] = (
            StagedCalls(*map(list, zip(*calls, strict=True))) if calls else StagedCalls([], [], [])
        )
    return result


class Stages:
    """How the staged calls of all ranks are divided into trees."""

    def __init__(self, calls: Mapping[int, StagedCalls]) -> None:
        self._calls = calls
        lengths = [stop - start for one in calls.values() for start, stop in _runs(one)]
        self.width = reduce(gcd, lengths, 0)
        falls, rises = (sum(self._breaks(one, down) for one in calls.values()) for down in (False, True))
        self.down = rises < falls

    def trees(self, point: int) -> list[list[Group]]:
        """The trees that a rank takes part in, each with its stages, in order."""
        result: list[list[Group]] = []
        end = -1
        for group in self._groups(self._calls[point]):
            before = result[-1][-1].stage if result else None
            follows = before is not None and (group.stage < before if self.down else group.stage > before)
            if follows and group.start == end and group.comm == result[-1][-1].comm:
                result[-1].append(group)
            else:
                result.append([group])
            end = group.start + self.width
        return result

    def _breaks(self, calls: StagedCalls, down: bool) -> int:
        """How often a stage does not come after the one before."""
        stages = [group.stage for group in self._groups(calls)]
        return sum(b >= a if down else b <= a for a, b in pairwise(stages))

    def _groups(self, calls: StagedCalls) -> Iterator[Group]:
        for start, stop in _runs(calls):
            for at in range(start, stop, self.width):
                yield Group(at, calls.stage[at], calls.stages[at], calls.comm[at])


def _runs(calls: StagedCalls) -> Iterator[tuple[int, int]]:
    """Start and end of the calls in a row that have one stage in one communicator."""
    stages = list(zip(calls.stage, calls.comm, strict=True))
    start = 0
    for at in range(1, len(stages) + 1):
        if at == len(stages) or stages[at] != stages[start]:
            if stages[start][0] >= 0:
                yield start, at
            start = at
