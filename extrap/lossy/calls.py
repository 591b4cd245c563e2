"""All calls of all ranks of a trace, each marked as kept or dropped.

Lossy extrapolation works on single calls (§3.2.4): the small input traces are walked, and the calls that
remain are compressed again before anything is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.errors import InputError
from scalatrace.operations import Category, operation
from scalatrace.trace.query.walk import Call

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["MAX_CALLS", "Calls", "Marks", "Reason", "droppable"]

Marks = np.ndarray[Any, np.dtype[np.int8]]

MAX_CALLS = 1 << 21
"""Calls of all ranks of one trace that are looked at one by one."""


class Reason(IntEnum):
    """Reason for dropping a call."""

    KEPT = 0
    SNIPPETS = 1
    UNCOMMON = 2
    NO_RULE = 3
    REPAIR = 4

    @property
    def words(self) -> str:
        """For people."""
        return WORDS[self]


WORDS = {
    Reason.KEPT: "kept",
    Reason.SNIPPETS: "in no snippet",
    Reason.UNCOMMON: "not common to all ranks",
    Reason.NO_RULE: "follows no rule",
    Reason.REPAIR: "left without partner",
}

_DROPPABLE = frozenset({
    Category.SEND, Category.RECV, Category.SENDRECV, Category.PROBE, Category.PERSISTENT, Category.START,
    Category.COMPLETION, Category.COLLECTIVE, Category.NEIGHBOUR, Category.ONE_SIDED,
})  # fmt: skip


def droppable(op: str) -> bool:
    """Return whether calls of an operation may be dropped.

    Calls that make communicators, files or windows may not.
    """
    return operation(op).category in _DROPPABLE


@dataclass(frozen=True)
class Calls:
    """Every call of every rank of a trace, numbered: first all of rank 0, then all of rank 1.

    Attributes:
        calls: the calls in this order.
        starts: number of each rank's first call, and behind the last one.
        marks: per call a `Reason`; changed as calls are dropped.
    """

    trace: Trace
    calls: list[Call]
    starts: Ints
    marks: Marks

    @classmethod
    def of(cls, trace: Trace) -> Calls:
        """Return all calls of a trace. Raises InputError if there are too many."""
        if trace.nevents() > MAX_CALLS:
            raise InputError(
                f"the trace of {trace.nprocs} ranks has {trace.nevents():,} calls: lossy extrapolation looks "
                f"at each, {MAX_CALLS:,} at most; record fewer steps"
            )
        calls: list[Call] = []
        starts = [0]
        for rank in range(trace.nprocs):
            calls += trace.walk(rank)
            starts.append(len(calls))
        return cls(trace, calls, np.array(starts), np.zeros(len(calls), dtype=np.int8))

    def of_rank(self, rank: int) -> range:
        """Return the numbers of a rank's calls."""
        return range(int(self.starts[rank]), int(self.starts[rank + 1]))

    def pred_of(self, number: int) -> int:
        """Return a call's index in the trace's table of predecessors; add it if it is new."""
        place = self.calls[number].place
        if place.own_pred < 0:
            preds, pair = self.trace.preds, (place.node.op, place.node.signature)
            if pair not in preds:
                preds.append(pair)
            return preds.index(pair)
        return place.own_pred

    def kept(self, number: int) -> bool:
        """Return whether a call is kept."""
        return not self.marks[number]
