"""Computations of ranks where a language cannot look at the call before: each rank's own mean (§4.3).

A call that some ranks make after a long computation and others after a short one has a mean over all ranks
that is right for none of them: in a wavefront the corners would compute longer than they do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from math import log2

from scalatrace.codegen.program.tree import Compute, Duration
from scalatrace.codegen.timing.predecessors import Arrival, Before, averaged, choose_context
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.contexts import TooLongError, executions_after
from scalatrace.trace.values.ranklist import RankList

__all__ = ["MOST_CLASSES", "OwnMeans", "level"]

MOST_RANKS = 1024
"""Ranks up to which each one's computation is looked at."""

LEVELS = 16
"""Means within a sixteenth of a power of two are alike ..."""

MOST_CLASSES = 12
"""... and so many different ones are said one by one."""


class OwnMeans:
    """The computations before the calls of a trace, by ranks that compute alike."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._told = trace, trace.nprocs <= MOST_RANKS
        self._times: dict[int, dict[int, dict[int, int]]] = {}

    def split(
        self, node: Event, known: dict[int, Duration], ranks: RankList, before: Before
    ) -> list[tuple[Compute, RankList]]:
        """Computations and who makes which; nothing where too many differ."""
        if not self._told:
            return []
        classes: dict[tuple[object, ...], tuple[Compute, list[int], Counter[int]]] = {}
        for rank in ranks:
            try:
                times = self._executions(rank, node, known)
            except TooLongError:
                self._told = False
                return []
            if times:
                compute = _own(known, times, before.of(RankList([rank])))
                levels = tuple(level(c.duration.ns) for c in compute.contexts)
                _, some, total = classes.setdefault((compute.first, levels), (compute, [], Counter()))
                some.append(rank)
                total.update(times)
        if len(classes) > MOST_CLASSES:
            return []
        return [
            (averaged(known, total) if compute.first is None else compute, RankList(some))
            for compute, some, total in classes.values()
        ]

    def _executions(self, rank: int, node: Event, preds: Container[int]) -> dict[int, int]:
        """How often a rank runs a node after each of these predecessors."""
        if rank not in self._times:
            table: dict[int, dict[int, int]] = {}
            for event, pred, n in executions_after(self._trace, rank):
                table.setdefault(id(event), {})[pred] = n
            self._times[rank] = table
        return {pred: n for pred, n in self._times[rank].get(id(node), {}).items() if pred in preds}


def level(ns: float) -> int:
    """A number that means have in common when they are alike."""
    return round(log2(max(ns, 1)) * LEVELS)


def _own(known: dict[int, Duration], times: Mapping[int, int], arrivals: list[Arrival]) -> Compute:
    """What is told by the iteration for these predecessors alone; else their mean."""
    told = choose_context({pred: known[pred] for pred in times}, arrivals, True)
    assert told is not None  # there is at least one
    return told if told.first is not None or len(told.contexts) == 1 else averaged(known, times)
