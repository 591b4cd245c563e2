"""Nonblocking collectives for a language that has blocking ones only: where are they to stand?

All members of a communicator start its collectives in the same order, but may complete them in any. So the
blocking form stands where the application starts the collective, unless ranks would then wait for each other:
where a rank sends or receives in between what others need before they come (as when a barrier says that all
messages have arrived), it stands where the application completes the collective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.matching.alignment.compress_calls import compress_calls
from scalatrace.codegen.matching.alignment.iteration_path import IterationPath, calls_with_paths
from scalatrace.codegen.matching.alignment.order import CollectiveOrder
from scalatrace.codegen.matching.wildcards import ExecutionPlan
from scalatrace.errors import UsageError
from scalatrace.executor.matching import SenderPolicy
from scalatrace.operations import COLLECTIVES, blocking_name, operation
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import ENDING
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["must_be_late", "with_late_collectives"]

MAX_EVENTS = 2_000_000
"""Longer traces are not executed: their collectives stand where they start."""

PathStep = tuple[IterationPath, Call]


def must_be_late(trace: Trace) -> bool:
    """Whether ranks would wait for each other if nonblocking collectives were blocking where they start.

    Costs O(operations) without such collectives, else one execution.
    """
    if not _immediate(trace) or trace.nevents() > MAX_EVENTS:
        return False
    try:
        return (
            ExecutionPlan(trace, blocking=True).execute(SenderPolicy.CAREFUL, synchronous=False)[1]
            is not None
        )
    except UsageError:  # peers or tags were not recorded
        return False


def with_late_collectives(trace: Trace) -> Trace:
    """The trace with blocking collectives where nonblocking ones end, if that must be; else the same object.

    Requests have other ages then, and a call that completes nothing else completes nothing. Costs one step
    per call.

    Raises:
        MatchingError: ranks complete the collectives in different orders.
        GenerateError: some are not completed.
        CoreError: the native core, which compresses, is missing.
    """
    if not must_be_late(trace):
        return trace
    late = _immediate(trace)
    ops = [replace(op, name=blocking_name(op.name)) if i in late else op for i, op in enumerate(trace.ops)]
    result = replace(trace, ops=ops, arrays=list(trace.arrays))
    return compress_calls(result, list(CollectiveOrder(result, _Later(result, late)).entries()))


def _immediate(trace: Trace) -> frozenset[int]:
    """The nonblocking collectives among the operations that a trace knows."""
    rows = [operation(op.name) for op in trace.ops]
    making = (i for i, row in enumerate(rows) if row.category in COLLECTIVES and row.makes_request)
    return frozenset(i for i in making if not rows[i].flow_later)


class _Later:
    """Walks in which a collective comes where its request ends."""

    def __init__(self, trace: Trace, late: frozenset[int]) -> None:
        self.trace, self.late = trace, late
        self.arrays: dict[tuple[int, ...], int] = {}

    def __call__(self, trace: Trace, rank: int) -> Iterator[PathStep]:
        """The calls of a rank."""
        live: list[Call] = []  # oldest first
        for stamp, call in calls_with_paths(trace, rank):
            if call.node.op in self.late:
                live.append(call)
            elif "request" in call or "requests" in call:
                yield from ((stamp, step) for step in self._about(call, live))
            else:
                yield stamp, call
                if operation(call.op).makes_request:
                    live.append(call)
        for call in filter(self._is_late, live):
            raise GenerateError(f"MPI_I{call.op.lower()} on rank {rank} is not completed")

    def _about(self, call: Call, live: list[Call]) -> Iterator[Call]:
        """A call about requests, and the collectives that it ends.

        These come first where messages are awaited too: those may be of ranks that have to go through the
        collective before.
        """
        ages: tuple[int, ...] = call["requests"] if "requests" in call else (call["request"],)
        places = [len(live) - 1 - age if age >= 0 else -1 for age in ages]
        chosen = places if "index" not in call else places[call["index"] :][:1] if call["index"] >= 0 else []
        ending = operation(call.op).base in ENDING or call.op == "Request_free"
        ended = sorted(at for at in chosen if 0 <= at < len(live)) if ending else []
        late = [live[at] for at in ended if self._is_late(live[at])]
        renumbered = self._renumber_ages(call, live, ages, places) if any(map(self._is_late, live)) else call
        awaits = any(not self._is_late(live[at]) for at in ended)
        yield from (*late, renumbered) if awaits else (renumbered, *late)
        gone = {at for at in ended if call.op == "Request_free" or not operation(live[at].op).flow_later}
        live[:] = [starting_call for at, starting_call in enumerate(live) if at not in gone]

    def _is_late(self, starting_call: Call) -> bool:
        return starting_call.node.op in self.late

    def _renumber_ages(
        self, call: Call, live: list[Call], ages: tuple[int, ...], live_positions: list[int]
    ) -> Call:
        """The call with the ages that requests have when collectives make none."""
        newer = [
            sum(not self._is_late(starting_call) for starting_call in live[at + 1 :])
            for at in range(len(live))
        ]
        kept = [
            (i, newer[at] if 0 <= at < len(live) else age)
            for i, (age, at) in enumerate(zip(ages, live_positions, strict=True))
            if not (0 <= at < len(live) and self._is_late(live[at]))
        ]
        values = list(call.values)
        if "request" in call:
            values[call.place.names["request"]] = kept[0][1] if kept else UNDEFINED
        else:
            values[call.place.names["requests"]] = self._array(tuple(age for _, age in kept))
        if "index" in call:
            places = [i for i, _ in kept]
            index = call["index"]
            values[call.place.names["index"]] = places.index(index) if index in places else UNDEFINED
        return Call(call.place, tuple(values), call.pred)

    def _array(self, values: tuple[int, ...]) -> int:
        if values not in self.arrays:
            self.arrays[values] = len(self.trace.arrays)
            self.trace.arrays.append(IntArray(len(values), vec_of(values)))
        return self.arrays[values]
