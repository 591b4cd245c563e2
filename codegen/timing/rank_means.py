"""Mean computation per rank, for languages that cannot look at the preceding call (§4.3).

Some ranks make a call after a long computation and others after a short one. The mean over all ranks is
wrong for each of them: in a wavefront, the corners would compute too long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from math import log2

from scalatrace.codegen.program.tree import ComputeStatement, Duration
from scalatrace.codegen.timing.predecessors import Arrival, Predecessors, average_compute, choose_context
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.contexts import TooLongError, executions_after
from scalatrace.trace.values.ranklist import RankList

__all__ = ["MAX_RANK_CLASSES", "RankMeans", "level"]

MAX_RANKS = 1024
"""Ranks of a trace whose computations are averaged one by one."""

LEVELS = 16
"""Means within 1 / LEVELS of a power of two count as equal."""

MAX_RANK_CLASSES = 12
"""Classes of ranks with different means in a program."""


class RankMeans:
    """Computations before the calls of a trace, by classes of ranks with equal means."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._is_short = trace, trace.nprocs <= MAX_RANKS
        self._times: dict[int, dict[int, dict[int, int]]] = {}

    def split(
        self, node: Event, durations: dict[int, Duration], ranks: RankList, predecessors: Predecessors
    ) -> list[tuple[ComputeStatement, RankList]]:
        """Return computations with their ranks; empty if there are too many classes."""
        if not self._is_short:
            return []
        classes: dict[tuple[object, ...], tuple[ComputeStatement, list[int], Counter[int]]] = {}
        for rank in ranks:
            try:
                times = self._executions(rank, node, durations)
            except TooLongError:
                self._is_short = False
                return []
            if times:
                compute = _compute_of(durations, times, predecessors.of(RankList([rank])))
                levels = tuple(level(c.duration.ns) for c in compute.contexts)
                _, members, total = classes.setdefault((compute.first, levels), (compute, [], Counter()))
                members.append(rank)
                total.update(times)
        if len(classes) > MAX_RANK_CLASSES:
            return []
        return [
            (average_compute(durations, total) if compute.first is None else compute, RankList(members))
            for compute, members, total in classes.values()
        ]

    def _executions(self, rank: int, node: Event, preds: Container[int]) -> dict[int, int]:
        """Return how often a rank runs a node after each of these predecessors."""
        if rank not in self._times:
            table: dict[int, dict[int, int]] = {}
            for event, pred, n in executions_after(self._trace, rank):
                table.setdefault(id(event), {})[pred] = n
            self._times[rank] = table
        return {pred: n for pred, n in self._times[rank].get(id(node), {}).items() if pred in preds}


def level(ns: float) -> int:
    """Return a number that is the same for means that count as equal."""
    return round(log2(max(ns, 1)) * LEVELS)


def _compute_of(
    durations: dict[int, Duration], times: Mapping[int, int], arrivals: list[Arrival]
) -> ComputeStatement:
    """Return the computation that the iteration decides for these predecessors, else their mean."""
    compute = choose_context({pred: durations[pred] for pred in times}, arrivals, True)
    assert compute is not None  # there is at least one
    by_iteration = compute.first is not None or len(compute.contexts) == 1
    return compute if by_iteration else average_compute(durations, times)
