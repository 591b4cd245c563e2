"""Explain a deadlock: wait-for graph and its shortest cycle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import groupby

from scalatrace.codegen.matching.diagnosis.report import (
    MatchingProblem,
    MatchingReport,
    SenderChoice,
    Unmatched,
    WaitingRank,
    shown_ranks,
)
from scalatrace.executor.matching import MatchExecution, Wait, WaitKind
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.threads import order_note
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["count_unmatched", "diagnose", "shortest_cycle"]

MAX_CYCLE_EDGES = 2_000_000
"""Edges of the graph that the search for a short cycle looks at; then it takes the shortest found so far."""


def diagnose(execution: MatchExecution) -> MatchingReport:
    """Return the report of an execution in which not all ranks came to their ends."""
    if execution.mismatch:
        return _mismatch(execution)
    blocked = {rank: _waiting(execution, list(waits)) for rank, waits in groupby(execution.waits(), _rank)}
    cycle = shortest_cycle({rank: waiting.awaits for rank, waiting in blocked.items()})
    ended = sorted({peer for w in blocked.values() for peer in w.awaits if peer not in blocked})
    detail = f"{shown_ranks(ended)} ended before that" if ended and not cycle else ""
    return MatchingReport(
        MatchingProblem.DEADLOCK,
        tuple(blocked[rank] for rank in cycle),
        tuple(blocked.values()),
        count_unmatched(execution),
        _choices(execution),
        detail,
        order_note(execution.trace),
    )


def _rank(wait: Wait) -> int:
    return wait.rank


def _mismatch(execution: MatchExecution) -> MatchingReport:
    """Return the report of two ranks whose collective calls do not fit together."""
    trace = execution.trace
    lines = [
        f"rank {rank} calls MPI_{trace.ops[event.op].name} at {_site(trace, event)}"
        for rank, event in execution.mismatch
    ]
    detail = f"{lines[0]} where {lines[1]}"
    return MatchingReport(MatchingProblem.MISMATCH, detail=detail, threads=order_note(trace))


def count_unmatched(execution: MatchExecution) -> tuple[Unmatched, ...]:
    """Return the messages that no rank received."""
    return tuple(
        Unmatched(source, dest, tag, _site(execution.trace, event), n)
        for source, dest, tag, event, n in execution.left()
    )


def shortest_cycle(awaits: Mapping[int, Iterable[int]]) -> list[int]:
    """The shortest cycle of a graph, from its lowest rank; empty when there is none."""
    best: list[int] = []
    effort = 0
    for start in sorted(awaits):
        cycle, edges = _cycle_through(awaits, start, len(best) or len(awaits) + 1)
        best = cycle or best
        effort += edges
        if len(best) == 1 or (best and effort > MAX_CYCLE_EDGES):
            break
    return best


def _cycle_through(awaits: Mapping[int, Iterable[int]], start: int, limit: int) -> tuple[list[int], int]:
    """A cycle through a rank shorter than `limit`, by breadth first search; how many edges that looked at."""
    came: dict[int, tuple[int, int]] = {start: (start, 1)}  # rank -> who waits for it, length so far
    queue, edges = deque([start]), 0
    while queue:
        rank = queue.popleft()
        if came[rank][1] >= limit:
            break
        for peer in awaits[rank]:
            edges += 1
            if peer == start:
                path = [rank]
                while path[-1] != start:
                    path.append(came[path[-1]][0])
                return path[::-1], edges
            if peer in awaits and peer not in came:
                came[peer] = rank, came[rank][1] + 1
                queue.append(peer)
    return [], edges


def _waiting(execution: MatchExecution, waits: list[Wait]) -> WaitingRank:
    trace, first = execution.trace, waits[0]
    parts = [_awaits(execution, wait) for wait in waits]
    awaits = tuple(dict.fromkeys(rank for ranks, _ in parts for rank in ranks))
    reasons = list(dict.fromkeys(words for _, words in parts))
    shown = " and ".join(reasons[:3]) + (f" and {len(reasons) - 3} more" if len(reasons) > 3 else "")
    op = trace.ops[first.event.op].name
    return WaitingRank(first.rank, op, _site(trace, first.event), awaits, shown)


def _awaits(execution: MatchExecution, wait: Wait) -> tuple[tuple[int, ...], str]:
    tag = _format_tag(wait.tag)
    if wait.kind is WaitKind.FOR_RECEIVE:
        return (wait.peer,), f"rank {wait.peer} to receive a message{tag}"
    if wait.kind is WaitKind.FOR_MEMBERS:
        missing = execution.missing(wait.meeting)
        op = execution.trace.ops[wait.made_by.op].name
        call = "" if execution.trace.ops[wait.event.op].name == op else f" in MPI_{op}"
        return missing, f"{shown_ranks(list(missing))}{call}"
    if wait.peer == ANY_SOURCE:
        awaited = tuple(rank for rank in execution.members(wait.family, wait.rank) if rank != wait.rank)
        return awaited, f"a message{tag} from any rank"
    return (wait.peer,), f"a message{tag} from rank {wait.peer}"


def _format_tag(tag: int) -> str:
    return "" if tag == ANY_TAG else f" with tag {tag}"


def _choices(execution: MatchExecution) -> tuple[SenderChoice, ...]:
    return tuple(
        SenderChoice(rank, source, _site(execution.trace, event))
        for rank, source, event in reversed(execution.decisions)
    )


def _site(trace: Trace, event: Event) -> str:
    stack = trace.stack(event.signature)
    return stack[0] if stack else "an unknown line"
