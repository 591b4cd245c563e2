"""Which computation ranks wait for: the recorded trace on a network that takes no time.

There, a rank waits only since others come later, and the way back from the end of a wait leads through
computation alone:

    rank 0   === a ===|send
    rank 1   = b =|recv|=== c ===|send
    rank 2   |recv................|        waits for c of rank 1, and before it for a of rank 0

The direct cause of the wait of rank 2 is rank 1, which sends. Its root causes are the pieces of computation
on the way back that rank 2 itself does not have, or has shorter (`delays`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import LimitError, ScalatraceError
from scalatrace.executor.ideal_run import DirectWait, IdealRun, RootCause
from scalatrace.predict.engine.call_log import CallLog
from scalatrace.predict.engine.delays import Computation, Place, WayPiece, delays, since_common_point
from scalatrace.predict.engine.serial_work import PathPiece, serial_work
from scalatrace.predict.engine.simulate import SimulateOptions, Simulation, Simulator
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.trace.consistency.failed import repeatable
from scalatrace.trace.model.nodes import node_numbers
from scalatrace.trace.model.trace import Trace

__all__ = ["IDEAL", "MAX_CALLS", "ideal_call_times", "ideal_time_ns", "run_ideally"]

IDEAL = Platform(name="a network that takes no time", interface="unlimited", network=Network((Segment(),)))

MAX_CALLS, MAX_FOLLOWED_RANKS = 500_000, 1 << 14
"""Calls of a trace whose waits are followed, and its ranks."""
MAX_RANKS, MAX_SIMULATED = 1 << 16, 4_000_000
"""Ranks of a trace that is simulated, and calls that are simulated one by one."""
MAX_PAIRS, MAX_DIRECT = 64, 64
"""Pairs of ranks, and direct waits, that are kept."""
MAX_STEPS = 1_500_000
"""Pieces on the ways back, in all; the longest waits are followed first."""
MIN_STEPS = 64
"""Pieces of a wait that are compared at least, while there are any left."""

_NS = 1e-3

_AT_END = -2
"""Stands for the node of the call at the end of a rank, which no program has."""


def run_ideally(trace: Trace) -> IdealRun:
    """Simulate a trace with its computation on a network that takes no time.

    Raises:
        LimitError: it has too many ranks, or takes too long.
        ScalatraceError: the trace cannot be simulated.
    """
    _check_ranks(trace)
    simulator, ncalls = Simulator(trace), trace.counted()
    numbers = node_numbers(trace.nodes)
    number_of = [numbers.get(id(node.event), 0) for node in simulator.program.nodes]
    if trace.has_streams or ncalls is None or ncalls > MAX_CALLS or trace.nprocs > MAX_FOLLOWED_RANKS:
        result = _simulate(simulator)
        return IdealRun(result.time_ns, _waiting_ns(result), _waiting_by_call(result, number_of))
    log = CallLog(trace, simulator.program, [(rank, 0) for rank in range(trace.nprocs)], causes=True)
    result = simulator.run(IDEAL, SimulateOptions(uneven=True), call_log=log)
    waiting, by_call = _waiting_ns(result), _waiting_by_call(result, number_of)
    ways = _WaysBack(trace, log, result.last_rank)
    call_of = [
        None if node.event is None else (node.event.op, node.event.signature)
        for node in simulator.program.nodes
    ]
    call_of.append(None)  # of -1: the start of a rank

    def place_of(computation: Computation) -> Place:
        _, after, node = computation
        return call_of[after], call_of[node]

    number_of.append(0)  # of -1: the start of a rank
    waits_of: dict[Computation, dict[int, float]] = {}  # rank and nodes -> rank that waits -> ps
    pairs: dict[tuple[int, int], float] = {}
    direct = defaultdict[tuple[int, int], _DirectSums](_DirectSums)
    for wait, computation, ps in ways.follow(place_of):
        waits = waits_of.setdefault(computation, {})
        waits[wait.rank] = waits.get(wait.rank, 0) + ps
        pairs[wait.rank, computation[0]] = pairs.get((wait.rank, computation[0]), 0) + ps
        direct[wait.node, wait.awaited].add(wait.rank, computation[0], ps)
    rows = [
        RootCause(rank, number_of[after], number_of[node], sum(waits.values()) * _NS, len(waits))
        for (rank, after, node), waits in waits_of.items()
    ]
    rows.sort(key=lambda row: -row.waiting_ns)
    waiters = Counter(rank for _, rank in pairs)
    largest = nlargest(MAX_PAIRS, ((a, b, ps * _NS) for (a, b), ps in pairs.items()), key=lambda row: row[2])
    total = sum(waiting)
    followed = sum(row.waiting_ns for row in rows) / total if total else 1.0
    path = [
        PathPiece(begin, end, rank, number_of[after], number_of[node])
        for begin, end, (rank, after, node) in ways.longest_path(result.last_rank)
    ]
    serial = serial_work(path, _computing(log, trace.nprocs), trace.nprocs)
    longest = nlargest(MAX_DIRECT, direct.items(), key=lambda item: item[1].waiting_ps)
    return IdealRun(
        result.time_ns,
        waiting,
        by_call,
        tuple(rows),
        waiters,
        tuple(largest),
        min(followed, 1.0),
        serial,
        tuple(sums.total(0 if node == _AT_END else number_of[node], rank) for (node, rank), sums in longest),
    )


class _DirectSums:
    """Sums of waits in a call for one rank that lets them end."""

    def __init__(self) -> None:
        self.causes = defaultdict[int, float](float)
        self._waiters: set[int] = set()

    def add(self, waiter: int, cause: int, ps: float) -> None:
        """Add a wait whose root cause is the computation of a rank."""
        self._waiters.add(waiter)
        self.causes[cause] += ps

    @property
    def waiting_ps(self) -> float:
        """Waiting of all ranks."""
        return sum(self.causes.values())

    def total(self, node: int, rank: int) -> DirectWait:
        """Return the sums of the waits in a call for a rank."""
        causes = sorted(self.causes.items(), key=lambda cause: -cause[1])
        return DirectWait(
            node,
            rank,
            self.waiting_ps * _NS,
            tuple(sorted(self._waiters)),
            tuple((cause, ps * _NS) for cause, ps in causes),
        )


class _FollowedWait(NamedTuple):
    """A call of a rank that waits for another rank.

    Attributes:
        node: of the call in the program; _AT_END: the end of the rank.
        awaited: the rank that lets the wait end.
    """

    rank: int
    node: int
    awaited: int


def ideal_call_times(
    trace: Trace, lines: Sequence[tuple[int, int]], max_calls: int
) -> dict[tuple[int, int], Floats] | None:
    """Return the times of the first calls of some ranks, or threads of them, on a network that takes no time.

    Args:
        lines: rank and thread of each.
        max_calls: of a line.

    Returns:
        Rank and thread -> [calls, 2] start and end in ns; None: the run has more than MAX_CALLS calls.
    """
    ncalls = trace.counted()
    if ncalls is None or ncalls > MAX_CALLS:
        return None
    return Simulator(trace).call_times(IDEAL, SimulateOptions(uneven=True), lines, max_calls)


def _computing(log: CallLog, nranks: int) -> Ints:
    """Return [pieces, 2] beginning and end of each computation of all ranks, in ps."""
    pieces = []
    for rank in range(nranks):
        times = log.of(rank)
        between = np.column_stack((np.concatenate(([0], times[:, 1]))[: len(times)], times[:, 0]))
        pieces.append(between[between[:, 1] > between[:, 0]])
    return np.concatenate(pieces)


def ideal_time_ns(trace: Trace) -> float | None:
    """Return the run time of a recorded trace on a network that takes no time, in ns.

    Start-up and shut-down are left out. None: the trace cannot be simulated.
    """
    try:
        simulated = repeatable(trace, keep_failed=True).without_phases
        _check_ranks(simulated)
        return _simulate(Simulator(simulated)).time_ns
    except ScalatraceError:
        return None


def _check_ranks(trace: Trace) -> None:
    if trace.nprocs > MAX_RANKS:
        raise LimitError(f"more than {MAX_RANKS:,} ranks")


def _simulate(simulator: Simulator) -> Simulation:
    exceeded = False

    def progress(simulated: int) -> bool:
        nonlocal exceeded
        exceeded = simulated > MAX_SIMULATED
        return exceeded

    try:
        return simulator.run(IDEAL, SimulateOptions(uneven=True), progress=progress)
    except ScalatraceError:
        if exceeded:
            raise LimitError(f"more than {MAX_SIMULATED:,} calls to simulate one by one") from None
        raise


def _waiting_ns(result: Simulation) -> tuple[float, ...]:
    waiting_ps = result.by_rank[:, 2] + result.time_ps - result.clocks[:, 0]
    return tuple((waiting_ps * _NS).tolist())


def _waiting_by_call(result: Simulation, number_of: Sequence[int]) -> dict[int, float]:
    by_call = defaultdict[int, float](float)
    for number, sums in zip(number_of, result.by_node.tolist(), strict=True):
        by_call[number] += sums[2] * _NS
    return dict(by_call)


class _WaysBack:
    """The calls of all ranks, and the ways back from their waits. Times are in ps.

    Each rank has a last call more, which begins and ends with it: ranks that end earlier wait there.
    """

    def __init__(self, trace: Trace, log: CallLog, last_rank: int) -> None:
        self._times = [log.of(rank).T.tolist() for rank in range(trace.nprocs)]
        self._causes = [log.causes_of(rank).T.tolist() for rank in range(trace.nprocs)]
        for (begins, ends), (nodes, *columns) in zip(self._times, self._causes, strict=True):
            end = ends[-1] if ends else 0
            begins.append(end)
            ends.append(end)
            nodes.append(nodes[-1] if nodes else 0)
            for column in columns:
                column.append(-1)
        last, end = len(self._times[last_rank][0]) - 1, self._times[last_rank][1][-1]
        for (begins, _), (_, causes, origins, causes_at) in zip(self._times, self._causes, strict=True):
            if begins[-1] < end:
                causes[-1], origins[-1], causes_at[-1] = last_rank, last, end

    def follow(
        self, place_of: Callable[[Computation], Place]
    ) -> Iterator[tuple[_FollowedWait, Computation, float]]:
        """Yield each wait with a computation that it is for, and how long."""
        steps_left = MAX_STEPS
        waits = sorted(self._waits(), reverse=True)
        for i, (_, rank, call) in enumerate(waits):
            nodes, causes, origins, causes_at = self._causes[rank]
            late, own = since_common_point(
                self._way_back(causes[call], origins[call], causes_at[call]),
                self._way_back(rank, call, self._times[rank][0][call]),
                max(MIN_STEPS, steps_left // (len(waits) - i)),
            )
            steps_left -= len(late) + len(own)
            wait = _FollowedWait(rank, nodes[call] if call < len(nodes) - 1 else _AT_END, causes[call])
            for computation, ps in delays(late, own, place_of).items():
                yield wait, computation, ps
            if steps_left <= 0:
                return

    def longest_path(self, last_rank: int) -> list[WayPiece]:
        """Return the pieces of the way from the start to the end."""
        call = len(self._times[last_rank][0]) - 1
        return list(self._way_back(last_rank, call, self._times[last_rank][1][call]))[::-1]

    def _waits(self) -> Iterator[tuple[int, int, int]]:
        """Yield duration, rank and number of each call that waits for another rank."""
        for rank, (_, causes, _, ends) in enumerate(self._causes):
            begins = self._times[rank][0]
            for call, cause in enumerate(causes):
                if cause >= 0 and cause != rank and ends[call] > begins[call]:
                    yield ends[call] - begins[call], rank, call

    def _way_back(self, rank: int, call: int, until: int) -> Iterator[WayPiece]:
        """Go back from a point in a call of a rank to the start of the run; yield pieces, the newest first.

        Pieces may be empty.
        """
        while call >= 0:
            begins, ends = self._times[rank]
            nodes, causes, origins, causes_at = self._causes[rank]
            # A call sends before it waits, so the way came into this rank in an earlier call.
            start = ends[call - 1] if call else 0
            yield WayPiece(start, until, (rank, nodes[call - 1] if call else -1, nodes[call]))
            call, until = call - 1, start
            if call >= 0 and causes[call] >= 0:
                after = max(causes_at[call], begins[call])
                yield WayPiece(after, until, (rank, nodes[call], nodes[call]))
                rank, call, until = causes[call], origins[call], causes_at[call]
