"""Counters of the loops around an execution, for one rank.

    for i2 in range(8):             for the Bcast, `i1` is 0 1 2 3 0 1 .., `l1` (left) 3 2 1 0 3 2 ..,
        for i1 in range(4):         `i2` 0 0 0 0 1 1 .., whether or not each iteration has one
            Bcast

`i` numbers all executions: 0 1 2 .. 31.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.formula import FUNCTIONS
from scalatrace.trace.symbolic.grid import GRID_NAMES
from scalatrace.trace.values.from_arrays import first_values
from scalatrace.trace.values.vec import Vec

MAX_RUNS = 1 << 16
"""Executions on one rank that are looked at one by one."""

NAMED = 4
"""Loops whose counters formulas may use, from the innermost outwards."""

__all__ = ["NAMED", "RESERVED", "Chain", "chain_of", "counter_names", "is_counter"]


def counter_names(levels: int) -> tuple[str, ...]:
    """Return the counters of `depth` loops, the innermost first: iteration, iterations left."""
    return tuple(f"{letter}{n}" for n in range(1, min(levels, NAMED) + 1) for letter in "il")


RESERVED = GRID_NAMES.union(["P", "r", "i", *counter_names(NAMED), "choose", "item", *FUNCTIONS])
"""Names that formulas use themselves."""


def is_counter(name: str) -> bool:
    """Return whether a name of a formula counts iterations."""
    return name[0] in "il" and (name == "i" or name[1:].isdigit())


@dataclass(frozen=True, eq=False)
class Chain:
    """A loop of one rank and those around it; empty for an event outside loops.

    Attributes:
        outer: the loop around this one.
        repeat: trip count of each entry.
        entry_count: how often the loop is entered.
    """

    outer: Chain | None
    repeat: Vec
    entry_count: int

    @cached_property
    def runs(self) -> int:
        """Number of executions of the content in the whole run."""
        return int(self._trip_counts.sum())

    @cached_property
    def levels(self) -> tuple[Chain, ...]:
        """The loops from the outermost to this one."""
        return (*(() if self.outer is None else self.outer.levels), self)

    @cached_property
    def small(self) -> bool:
        """Return whether its executions can be visited one by one."""
        constant = self.repeat.constant
        if self.entry_count > MAX_RUNS or (constant is not None and constant * self.entry_count > MAX_RUNS):
            return False
        return self.runs <= MAX_RUNS and (self.outer is None or self.outer.small)

    @cached_property
    def _trip_counts(self) -> Ints:
        if self.repeat.constant is not None:
            return np.full(self.entry_count, self.repeat.constant, dtype=np.int64)
        return first_values(self.repeat, self.entry_count)

    @cached_property
    def counters(self) -> tuple[tuple[Ints, Ints], ...]:
        """Per loop, the outermost first: of every execution the iteration, and how many are left."""
        trips = self._trip_counts
        around = () if self.outer is None else self.outer.counters
        result = [(np.repeat(i, trips), np.repeat(runs_left, trips)) for i, runs_left in around]
        iterations = np.arange(self.runs) - np.repeat(np.cumsum(trips) - trips, trips)
        return (*result, (iterations, np.repeat(trips, trips) - 1 - iterations))

    def period(self, depth: int) -> int:
        """Return executions per iteration of the loop at a depth (0: in all) if they are equal, else 0."""
        if depth not in self._periods:
            self._periods[depth] = self._period(depth)
        return self._periods[depth]

    @cached_property
    def _periods(self) -> dict[int, int]:
        return {}

    def _period(self, depth: int) -> int:
        rows = self.levels[depth - 1].runs if depth else 1
        if not rows or self.runs % rows:
            return 0
        inner = [runs_left for _, runs_left in self.counters[depth:]]
        return self.runs // rows if all(rows_equal(column, rows) for column in inner) else 0

    def columns(self, depth: int) -> dict[str, Ints]:
        """Return the counters within the first iteration of the loop at a depth, by name."""
        count = self.period(depth)
        inner = self.counters[depth:][::-1][:NAMED]
        names = counter_names(len(self.levels) - depth)
        result = dict(zip(names, (column[:count] for pair in inner for column in pair), strict=True))
        return {**result, "i": np.arange(count)} if len(inner) > 1 else result


def rows_equal(values: Ints, rows: int) -> bool:
    """Return whether all rows of values, divided into this many rows, are equal."""
    if len(values) % rows:
        return False
    table = values.reshape(rows, -1)
    return bool((table == table[:1]).all())


def chain_of(repeats: Sequence[Vec]) -> Chain | None:
    """Return the loops with these repeats, the outermost first, which is entered once."""
    chain: Chain | None = None
    for repeat in repeats:
        chain = Chain(chain, repeat, 1 if chain is None else chain.runs)
    return chain
