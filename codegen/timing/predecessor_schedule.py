"""Predict the predecessor of each execution of a call (§4.3).

A language that cannot look at the preceding call can count executions. In a wavefront, the block after a
corner comes late and the next one at once; with the mean of both, ranks would wait at the wrong moments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from scalatrace.codegen.program.tree import Branch, ComputeStatement, Duration, Stmt
from scalatrace.codegen.program.values import of_vec
from scalatrace.codegen.timing.predecessors import average_compute
from scalatrace.codegen.timing.rank_means import MAX_RANK_CLASSES, level
from scalatrace.formula import Const, Expr, compare, length, number
from scalatrace.trace.model.elastic import Elastic, at
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["PredecessorSchedules"]

MAX_EVENTS = 200_000
"""Events of all ranks in a trace whose predecessors are looked up."""

MEAN_RESOLUTION = 16
"""Means closer than 1 / MEAN_RESOLUTION of the longest count as equal."""

RARE_SHARE = 16
"""Ignore a computation that occurs once in at least so many executions."""

MAX_RULE_LENGTH = 48
"""Variables and numbers in the formula of a schedule."""

MAX_PERIOD = 1 << 10
"""Visits of a call until its schedule repeats."""

ComputeNumber = int | None
"""Index of the computation before a call; None: the call is skipped, so any computation will do."""


@dataclass(frozen=True)
class Schedule:
    """The computation at each visit of a call, on some ranks.

    Attributes:
        turns: index of the computation by visit, as equivalent vectors.
        computes: the computations.
    """

    turns: tuple[Vec, ...]
    computes: tuple[ComputeStatement, ...]
    ranks: RankList

    def stmts(self, entry_count: Expr) -> list[Stmt] | None:
        """Return the statements for a number of earlier visits; None if they would be too long."""
        *earlier, last = self.computes
        if not earlier:
            return [last]
        turn = min((number(of_vec(vec, entry_count)) for vec in self.turns), key=length)
        if length(turn) * len(earlier) > MAX_RULE_LENGTH:
            return None
        stmts: tuple[Stmt, ...] = (last,)
        for index, compute in reversed(list(enumerate(earlier))):
            stmts = (Branch(compare("==", turn, Const(index)), (compute,), stmts),)
        return list(stmts)


class PredecessorSchedules:
    """The schedules of a trace's calls."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def schedules(self, node: Event, durations: dict[int, Duration], ranks: RankList) -> list[Schedule]:
        """Return the schedules of a node on these ranks; none if one of the ranks follows no schedule."""
        result: dict[
            tuple[tuple[ComputeNumber, ...], tuple[int, ...]], tuple[list[Counter[int]], list[int]]
        ] = {}
        kinds = _kinds_of_time(durations)
        for rank in ranks:
            preds = self._preds.get((id(node), rank), [])
            schedule = _schedule_of(preds, _visits_with_call(node.repeat, rank, len(preds)), kinds)
            if schedule is None:
                return []
            turns, counts = schedule
            means = tuple(level(average_compute(durations, n).contexts[0].duration.ns) for n in counts)
            totals, members = result.setdefault((turns, means), ([Counter() for _ in counts], []))
            members.append(rank)
            for total, mine in zip(totals, counts, strict=True):
                total.update(mine)
        if len(result) > MAX_RANK_CLASSES:
            return []
        return [
            Schedule(_endless(turns), tuple(average_compute(durations, n) for n in totals), RankList(members))
            for (turns, _), (totals, members) in result.items()
        ]

    @cached_property
    def _preds(self) -> dict[tuple[int, int], list[int]]:
        """The predecessor of each execution by node and rank; empty if the trace has too many events."""
        result: dict[tuple[int, int], list[int]] = {}
        trace = self._trace
        if trace.nevents() > MAX_EVENTS:
            return result
        for rank in trace.ranks:
            for call in trace.walk(rank):
                result.setdefault((id(call.node), rank), []).append(call.pred)
        return result


def _schedule_of(
    preds: Sequence[int], executions: Sequence[int], kinds: Mapping[int, int]
) -> tuple[tuple[ComputeNumber, ...], list[Counter[int]]] | None:
    """Return one rank's period of computations with their counts by predecessor; None without a period."""
    often = Counter(kinds.get(pred) for pred in preds)
    frequent = [kind for kind, n in often.items() if n > 1 or len(preds) < RARE_SHARE]
    if not executions or not frequent or None in often:
        return None
    number = {kind: i for i, kind in enumerate(frequent)}
    numbers = iter([number.get(kinds[pred]) for pred in preds])
    turns = list(_period([next(numbers) if n else None for n in executions]))
    if len(frequent) > 1 and len(turns) > MAX_PERIOD:
        return None
    places = [i % len(turns) for i, n in enumerate(executions) if n]
    counts: list[Counter[int]] = [Counter() for _ in frequent]
    for place, pred in zip(places, preds, strict=True):
        turn = turns[place] = turns[place] or 0  # where only rare ones are, any will do
        counts[turn][pred] += 1
    return tuple(turns), counts


def _kinds_of_time(durations: Mapping[int, Duration]) -> dict[int, int]:
    """Group predecessors by the length of the computation after them."""
    ordered = sorted(durations, key=lambda pred: durations[pred].ns)
    apart = durations[ordered[-1]].ns / MEAN_RESOLUTION
    kinds, kind, last = {}, 0, durations[ordered[0]].ns
    for pred in ordered:
        kind += durations[pred].ns - last > apart
        kinds[pred], last = kind, durations[pred].ns
    return kinds


def _visits_with_call(repeat: Elastic, rank: int, executions: int) -> list[int]:
    """Return whether each visit makes the call, up to its last execution; empty if a visit makes it twice."""
    vec = at(repeat, rank)
    if not executions or vec is None or (vec.constant is not None and vec.constant != 1):
        return []
    visits, n = [], 0
    for times in islice(vec, MAX_EVENTS):
        if times > 1:
            return []
        visits.append(times)
        n += times
        if n == executions:
            return visits
    return []


def _period(turns: Sequence[ComputeNumber]) -> tuple[ComputeNumber, ...]:
    """Return the shortest period; all computations if they do not repeat."""
    for n in range(1, min(len(turns) // 2, MAX_PERIOD) + 1):
        first = list(turns[:n])
        for i, turn in enumerate(turns[n:]):
            if first[i % n] is None:
                first[i % n] = turn
            elif turn is not None and turn != first[i % n]:
                break
        else:
            return tuple(first)
    return tuple(turns)


def _endless(turns: Sequence[ComputeNumber]) -> tuple[Vec, ...]:
    """Return endless vectors, with an index where any computation will do."""
    periods = []
    for filled in _fill(turns):
        once = vec_of(filled)
        periods.append(Vec(((0, 0, *once.terms),)) if isinstance(once.terms, tuple) else once)
    return tuple(dict.fromkeys(periods))


def _fill(turns: Sequence[ComputeNumber]) -> Iterator[list[int]]:
    for compute in sorted({turn for turn in turns if turn is not None}):
        yield [compute if turn is None else turn for turn in turns]
    for order in (1, -1):
        last, filled = 0, []
        for turn in turns[::order]:
            last = last if turn is None else turn
            filled.append(last)
        yield filled[::order]
