"""Explain a deadlock: wait-for graph and its shortest cycle."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from scalatrace.codegen.matching.diagnosis.report import (
    MatchingProblem,
    MatchingReport,
    SenderChoice,
    Unmatched,
    WaitingRank,
    shown_ranks,
)
from scalatrace.codegen.matching.execution.actor import Actor
from scalatrace.codegen.matching.execution.collective_state import CollectiveMismatchError, CollectivePart
from scalatrace.codegen.matching.execution.engine import Engine
from scalatrace.codegen.matching.execution.mailbox import MailItem, PostedReceive, Sent
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.threads import order_note
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["count_unmatched", "diagnose", "mismatch", "shortest_cycle"]

MAX_CYCLE_EDGES = 2_000_000
"""Edges of the graph that the search for a short cycle looks at; then it takes the shortest found so far."""


def diagnose(engine: Engine) -> MatchingReport:
    """The report of an execution in which not all ranks came to their ends."""
    blocked = {actor.rank: _waiting(engine, actor) for actor in engine.actors.values() if not actor.ended}
    cycle = shortest_cycle({rank: waiting.awaits for rank, waiting in blocked.items()})
    ended = sorted({peer for w in blocked.values() for peer in w.awaits if peer not in blocked})
    detail = f"{shown_ranks(ended)} ended before that" if ended and not cycle else ""
    return MatchingReport(
        MatchingProblem.DEADLOCK,
        tuple(blocked[rank] for rank in cycle),
        tuple(blocked.values()),
        count_unmatched(engine),
        _choices(engine),
        detail,
        order_note(engine.script.trace),
    )


def mismatch(trace: Trace, error: CollectiveMismatchError) -> MatchingReport:
    """The report of two ranks whose collective calls do not fit together."""
    lines = [
        f"rank {part.rank} calls MPI_{part.collective.op} at {_site(trace, part.event)}"
        for part in (error.first, error.second)
    ]
    detail = f"{lines[0]} where {lines[1]}"
    return MatchingReport(MatchingProblem.MISMATCH, detail=detail, threads=order_note(trace))


def count_unmatched(engine: Engine) -> tuple[Unmatched, ...]:
    """Return the messages that no rank received."""
    unmatched_counts: Counter[tuple[int, int, int, int, int]] = Counter()
    events: dict[int, Event] = {}
    for box in engine.mailboxes.values():
        for messages in box.unread.values():
            for sent in messages:
                events[id(sent.event)] = sent.event
                unmatched_counts[sent.source, box.dest, box.channel[0], sent.send.tag, id(sent.event)] += 1
    trace = engine.script.trace
    return tuple(
        Unmatched(source, dest, tag, _site(trace, events[event]), n)
        for (source, dest, _, tag, event), n in sorted(unmatched_counts.items())
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


def _waiting(engine: Engine, actor: Actor) -> WaitingRank:
    items = [item for item in actor.items if not item.done]
    parts = [_awaits(engine, actor, item) for item in items]
    any_one = len(items) == 1 and isinstance(items[0], PostedReceive) and items[0].is_open
    awaits = tuple(dict.fromkeys(rank for ranks, _ in parts for rank in ranks))
    what = list(dict.fromkeys(words for _, words in parts))
    shown = " and ".join(what[:3]) + (f" and {len(what) - 3} more" if len(what) > 3 else "")
    action = actor.action
    site = _site(engine.script.trace, action.event) if action else ""
    return WaitingRank(actor.rank, action.op if action else "", site, awaits, any_one, shown)


def _awaits(engine: Engine, actor: Actor, item: MailItem) -> tuple[tuple[int, ...], str]:
    if isinstance(item, Sent):
        return (item.send.dest,), f"rank {item.send.dest} to receive a message{_format_tag(item.send.tag)}"
    if isinstance(item, CollectivePart):
        missing = engine.collectives.missing(item)
        call = (
            "" if actor.action and item.collective.op == actor.action.op else f" in MPI_{item.collective.op}"
        )
        return missing, f"{shown_ranks(list(missing))}{call}"
    assert isinstance(item, PostedReceive)
    tag = _format_tag(item.tag)
    if item.source == ANY_SOURCE:
        peers = tuple(rank for rank in item.receive.scope.members if rank != actor.rank)
        return peers, f"a message{tag} from any rank"
    return (item.source,), f"a message{tag} from rank {item.source}"


def _format_tag(tag: int) -> str:
    return "" if tag == ANY_TAG else f" with tag {tag}"


def _choices(engine: Engine) -> tuple[SenderChoice, ...]:
    trace = engine.script.trace
    return tuple(
        SenderChoice(decision.post.rank, decision.source, _site(trace, decision.post.receive.event))
        for decision in reversed(engine.decisions)
    )


def _site(trace: Trace, event: Event) -> str:
    stack = trace.stack(event.signature)
    return stack[0] if stack else "an unknown line"
