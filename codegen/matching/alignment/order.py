"""All ranks' calls in one order in which each collective call is one entry (dissertation §4.4.3, Algorithm
2).

Every call has a place in the tree: which child, in which iteration, of which child, and so on. In the order
of these places ranks go on, those at the same place together; a rank that comes to a collective call waits
until all members of its communicator are at theirs. So what was together in the trace stays together, calls
of the collective from several lines come together, and each rank keeps its own order. The walk is one loop
over a heap, without recursion.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scalatrace.codegen.matching.alignment.iteration_path import IterationPath, calls_with_paths
from scalatrace.codegen.matching.alignment.scopes import WORLD, Scopes
from scalatrace.codegen.matching.diagnosis.diagnose import shortest_cycle
from scalatrace.codegen.matching.diagnosis.report import (
    MatchingError,
    MatchingProblem,
    MatchingReport,
    WaitingRank,
    shown_ranks,
)
from scalatrace.executor.match_program import stream_parameter
from scalatrace.operations import is_collective
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.walk import Call
from scalatrace.trace.threads import order_note

__all__ = ["CollectiveOrder", "Entry"]

EntryKey = tuple[object, ...]
Walk = Callable[[Trace, int], Iterator[tuple[IterationPath, Call]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """Calls that happen together: one for each rank, of one event node unless they are a collective call."""

    calls: tuple[Call, ...]
    collective: bool

    @property
    def ranks(self) -> tuple[int, ...]:
        """Who makes them."""
        return tuple(call.rank for call in self.calls)


class CollectiveOrder:
    """See above. `steps` counts calls; `walk` gives those of a rank, with their places."""

    def __init__(self, trace: Trace, walk: Walk = calls_with_paths) -> None:
        self._threads = order_note(trace)
        self._trace = trace
        self._scopes = Scopes(trace)
        self._walks = {rank: walk(trace, rank) for rank in trace.ranks}
        self._local: dict[IterationPath, list[Call]] = {}  # of ranks that can go on
        self._whole: dict[IterationPath, list[list[Call]]] = {}  # collective calls for which all have come
        self._waiting: dict[EntryKey, dict[int, tuple[IterationPath, Call]]] = {}
        self._entry_counts: Counter[tuple[EntryKey, int]] = Counter()
        self._heap: list[IterationPath] = []
        self._collective = [is_collective(op.name) for op in trace.ops]
        self.steps = 0

    def entries(self) -> Iterator[Entry]:
        """The calls of all ranks. Raises MatchingError when collective calls do not fit together."""
        for rank in self._walks:
            self._go_on(rank)
        while self._heap:
            stamp = heapq.heappop(self._heap)
            for entry in self._at(stamp):
                yield entry
                for call in entry.calls:
                    self._go_on(call.rank)
        if self._waiting:
            raise MatchingError(self._report())

    def _at(self, stamp: IterationPath) -> list[Entry]:
        """What happens at a place; collective calls that are alike (all rows' broadcasts) at once."""
        entries = [Entry(tuple(calls), False) for calls in (self._local.pop(stamp, None),) if calls]
        calls_by_key: dict[EntryKey, list[Call]] = {}
        for calls in self._whole.pop(stamp, ()):
            calls_by_key.setdefault(
                (calls[0].op, frozenset(call.node.signature for call in calls)), []
            ).extend(calls)
        for calls in calls_by_key.values():
            entries.append(Entry(tuple(sorted(calls, key=lambda call: call.rank)), True))
        return entries

    def _go_on(self, rank: int) -> None:
        """Take a rank's next call and put it where its time will come."""
        following = next(self._walks[rank], None)
        if following is None:
            return
        self.steps += 1
        stamp, call = following
        if not self._collective[call.node.op]:
            self._push(stamp, self._local, call)
            return
        members = self._members(call)
        if len(members) < 2:
            self._push(stamp, self._whole, [call])
            return
        key = self._key(call)
        arrived = self._waiting.setdefault(key, {})
        arrived[rank] = stamp, call
        self._check_fit(arrived, call)
        if len(arrived) == len(members):
            del self._waiting[key]
            self._push(
                max(at for at, _ in arrived.values()), self._whole, [call for _, call in arrived.values()]
            )

    def _push(
        self,
        stamp: IterationPath,
        table: dict[IterationPath, list[Call]] | dict[IterationPath, list[list[Call]]],
        node: object,
    ) -> None:
        if stamp not in self._local and stamp not in self._whole:
            heapq.heappush(self._heap, stamp)
        table.setdefault(stamp, []).append(node)  # type: ignore[arg-type]

    def _members(self, call: Call) -> tuple[int, ...]:
        family = WORLD if call.place.comm_at is None else call.family
        scope = self._scopes.of(family, call.rank)
        return () if scope is None else scope.members

    def _key(self, call: Call) -> EntryKey:
        """Names the collective operation, the same on all members: the n-th of its stream."""
        inner = stream_parameter(call.place.op)
        stream = (call.family, self._members(call)[0], inner, call.raw(inner) if inner else -1)
        n = self._entry_counts[stream, call.rank]
        self._entry_counts[stream, call.rank] = n + 1
        return (*stream, n)

    def _check_fit(self, arrived: dict[int, tuple[IterationPath, Call]], call: Call) -> None:
        first = next(iter(arrived.values()))[1]
        if first.op != call.op:
            shown = [
                f"rank {c.rank} calls MPI_{c.op} at {c.site or 'an unknown line'}" for c in (first, call)
            ]
            detail = f"{shown[0]} where {shown[1]}"
            raise MatchingError(
                MatchingReport(MatchingProblem.MISMATCH, detail=detail, threads=self._threads)
            )

    def _report(self) -> MatchingReport:
        blocked: dict[int, WaitingRank] = {}
        for arrived in self._waiting.values():
            for rank, (_, call) in arrived.items():
                missing = tuple(r for r in self._members(call) if r not in arrived)
                site = call.site or "an unknown line"
                blocked[rank] = WaitingRank(rank, call.op, site, missing, shown_ranks(list(missing)))
        cycle = shortest_cycle({rank: waiting.awaits for rank, waiting in blocked.items()})
        listed = tuple(blocked[rank] for rank in sorted(blocked))
        ended = sorted({peer for waiting in listed for peer in waiting.awaits if peer not in blocked})
        detail = f"{shown_ranks(ended)} ended before that" if ended and not cycle else ""
        cycled = tuple(blocked[rank] for rank in cycle)
        return MatchingReport(MatchingProblem.DEADLOCK, cycled, listed, detail=detail, threads=self._threads)
