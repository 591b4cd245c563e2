"""Which computation ranks wait for: the recorded trace on a network that takes no time.

There, a rank waits only since others come later, and the way back from the end of a wait leads through
computation alone:

    rank 0   === a ===|send
    rank 1   = b =|recv|=== c ===|send
    rank 2   |recv................|        waits for c of rank 1, and before it for a of rank 0

The direct cause of the wait of rank 2 is rank 1, which sends. Its root causes are the pieces of computation
on the way back: as much of each as lies within the wait. Boehme et al. (2016), "Identifying the Root Causes
of Wait States in Large-Scale Parallel Applications", call them delays, and divide waits between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scalatrace.predict.engine.call_log import CallLog
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace

__all__ = ["IDEAL", "MAX_CALLS", "IdealRun", "RootCause", "run_ideally"]

IDEAL = Platform(name="a network that takes no time", interface="unlimited", network=Network((Segment(),)))

MAX_CALLS = 500_000
"""Calls of a trace whose waits are followed."""
MAX_STEPS = 1_500_000
"""Pieces on the ways back, in all; the longest waits are followed first."""

_NS = 1e-3


@dataclass(frozen=True)
class RootCause:
    """Computation for which ranks wait.

    Attributes:
        rank: that computes.
        event: the call before which it computes.
        waiting_ns: of other ranks, for this computation.
        nranks: ranks that wait for it.
    """

    rank: int
    event: Event
    waiting_ns: float
    nranks: int


@dataclass(frozen=True)
class IdealRun:
    """A run on a network that takes no time.

    Attributes:
        time_ns: when the last rank ends.
        waiting_ns: [nranks] time that each rank waits in calls.
        causes: those of most waiting first; (): the waits were not followed.
        pairs: rank that waits, rank whose computation it waits for -> ns; likewise.
        followed: part of the waiting whose causes were found, from 0 to 1.
    """

    time_ns: float
    waiting_ns: tuple[float, ...]
    causes: tuple[RootCause, ...] = ()
    pairs: tuple[tuple[int, int, float], ...] = ()
    followed: float = 0.0


def run_ideally(trace: Trace) -> IdealRun:
    """Simulate a trace with its computation on a network that takes no time.

    Raises:
        ScalatraceError: the trace cannot be simulated.
    """
    simulator, ncalls = Simulator(trace), trace.counted()
    if trace.has_streams or ncalls is None or ncalls > MAX_CALLS:
        result = simulator.run(IDEAL)
        return IdealRun(result.time_ns, tuple((result.by_rank[:, 2] * _NS).tolist()))
    log = CallLog(trace, simulator.program, [(rank, 0) for rank in range(trace.nprocs)], causes=True)
    result = simulator.run(IDEAL, call_log=log)
    waiting = tuple((result.by_rank[:, 2] * _NS).tolist())
    ways = _Ways(trace, log)
    waits_of: dict[tuple[int, int], dict[int, int]] = {}  # rank and node -> rank that waits -> ps
    pairs: dict[tuple[int, int], int] = {}
    for waiter, rank, node, ps in ways.follow():
        waits = waits_of.setdefault((rank, node), {})
        waits[waiter] = waits.get(waiter, 0) + ps
        pairs[waiter, rank] = pairs.get((waiter, rank), 0) + ps
    rows = []
    for (rank, node), waits in waits_of.items():
        event = simulator.program.nodes[node].event
        assert isinstance(event, Event)
        rows.append(RootCause(rank, event, sum(waits.values()) * _NS, len(waits)))
    rows.sort(key=lambda row: -row.waiting_ns)
    ordered = sorted(((a, b, ps * _NS) for (a, b), ps in pairs.items()), key=lambda row: -row[2])
    total = sum(waiting)
    followed = sum(row.waiting_ns for row in rows) / total if total else 1.0
    return IdealRun(result.time_ns, waiting, tuple(rows), tuple(ordered), min(followed, 1.0))


class _Ways:
    """The calls of all ranks, and the ways back from their waits. Times are in ps."""

    def __init__(self, trace: Trace, log: CallLog) -> None:
        self._times = [log.of(rank).T.tolist() for rank in range(trace.nprocs)]
        self._causes = [log.causes_of(rank).T.tolist() for rank in range(trace.nprocs)]

    def follow(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the rank that waits, the rank that computes, the node before which it does, and how long."""
        left = MAX_STEPS
        for _, rank, call in sorted(self._waits(), reverse=True):
            since = self._times[rank][0][call]
            _, causes, origins, causes_at = self._causes[rank]
            for late, node, ps in self._way(causes[call], origins[call], causes_at[call], since):
                left -= 1
                if ps:
                    yield rank, late, node, ps
            if left <= 0:
                return

    def _waits(self) -> Iterator[tuple[int, int, int]]:
        """Yield duration, rank and number of each call that waits for another rank."""
        for rank, (_, causes, _, ends) in enumerate(self._causes):
            begins = self._times[rank][0]
            for call, cause in enumerate(causes):
                if cause >= 0 and cause != rank and ends[call] > begins[call]:
                    yield ends[call] - begins[call], rank, call

    def _way(self, rank: int, call: int, until: int, since: int) -> Iterator[tuple[int, int, int]]:
        """Go back from a point in a call of a rank; yield rank, node and length of each piece, also of 0."""
        while until > since and call >= 0:
            begins, ends = self._times[rank]
            nodes, causes, origins, causes_at = self._causes[rank]
            # A call sends before it waits, so the way came into this rank in an earlier call.
            start = ends[call - 1] if call else 0
            yield rank, nodes[call], max(until - max(start, since), 0)
            call, until = call - 1, start
            if call >= 0 and causes[call] >= 0:
                after = max(causes_at[call], begins[call])
                yield rank, nodes[call], max(until - max(after, since), 0)
                rank, call, until = causes[call], origins[call], causes_at[call]
