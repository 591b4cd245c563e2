"""Whose message a receive from any source gets, when there are several.

A manager answers whom it heard: its first message after it completed a receive goes to the sender. A receive
that is pending is followed to the call that completes its request. Later requests change its age.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scalatrace.codegen.matching.execution.actor import Actor
from scalatrace.codegen.matching.execution.mailbox import PostedReceive
from scalatrace.codegen.matching.execution.match_actions import ActionKind, MatchAction, MatchActions
from scalatrace.trace.query.requests import LiveRequests

__all__ = [
    "ADVERSE",
    "CAREFUL",
    "FAIR",
    "HIGHEST",
    "IN_TURNS",
    "LOWEST",
    "SenderCandidate",
    "SenderPolicy",
    "hinted_sender",
    "make_shuffled",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SenderCandidate:
    """A sender whose message a receive could take.

    Attributes:
        source: world rank.
        spare: messages left of it that no receive with a certain sender needs.
        allowed: whether all other receives still get a message, if this one takes it.
        hinted: the receiver's next calls suggest that it was this one, as the answer of a manager does.
        chosen: how often this receive has taken a message from there.
        when: its call, in the order of the program's text and iterations; earlier is less.
        distance: from the receiver up to the sender, modulo the number of ranks.
    """

    source: int
    spare: int
    allowed: bool
    hinted: bool
    chosen: int
    when: Any
    distance: int


@dataclass(frozen=True, slots=True)
class SenderPolicy:
    """Takes the candidate of least `order`; a sparing one none whose messages others need, unless forced."""

    name: str
    order: Callable[[SenderCandidate], Any]
    sparing: bool

    def choose(self, candidates: Sequence[SenderCandidate], forced: bool) -> SenderCandidate | None:
        """The best candidate; None for rather none of them."""
        allowed = candidates if forced or not self.sparing else [c for c in candidates if c.allowed]
        return min(allowed, key=self.order, default=None)


CAREFUL = SenderPolicy("careful", lambda c: (not c.hinted, c.when, c.chosen, c.distance), sparing=True)
"""Follows the recorded run where that shows; else messages in the order of the program's text and iterations,
and of those sent by one line in one iteration in turns: the same relative sources in every iteration."""

IN_TURNS = SenderPolicy("in turns", lambda c: (not c.hinted, c.chosen, c.distance), sparing=True)
FAIR = SenderPolicy("fair", lambda c: (c.when, c.chosen, c.distance), sparing=True)
LOWEST = SenderPolicy("lowest", lambda c: c.source, sparing=False)
HIGHEST = SenderPolicy("highest", lambda c: -c.source, sparing=False)
ADVERSE = SenderPolicy("adverse", lambda c: (c.spare, c.source), sparing=False)
"""Takes what other receives need, if it may: the way into a deadlock that MPI allows."""


def make_shuffled(seed: int) -> SenderPolicy:
    """A policy that draws; the same seed draws the same."""
    draw = random.Random(seed)
    return SenderPolicy(
        "shuffled", lambda c: (not c.hinted and draw.random() < 0.5, draw.random()), sparing=True
    )


def hinted_sender(
    actor: Actor, post: PostedReceive, actions: MatchActions, senders: Container[int]
) -> int | None:
    """Return the sender that a rank's next calls suggest; None: they suggest none of these."""
    waits = post in actor.items
    if waits and post.receive.takes and actor.probed in senders:
        return actor.probed
    request = None if waits else _Followed(actor, post)
    for call in actor.coming():
        action = actions.of(call)
        if request is not None and not request.completed:
            if request.follow(action):
                continue
            return None
        if action.receive is not None and (not post.receive.takes or action.kind is ActionKind.COMMUNICATE):
            named = not post.receive.takes and action.receive.source in senders
            return action.receive.source if named else None
        if action.send is not None and post.receive.takes and action.send.dest in senders:
            return action.send.dest
    return None


class _LiveRequest(NamedTuple):
    """A live request: whether completion leaves it, and whether it is the followed one."""

    persistent: bool
    followed: bool = False


class _Followed:
    """The request of a pending receive among the live ones of its rank, which calls to come change."""

    def __init__(self, actor: Actor, post: PostedReceive) -> None:
        self._live = LiveRequests[_LiveRequest](lambda request: request.persistent)
        for request in actor.requests.live:
            followed = any(item is post for item in request.items)
            self._live.add(_LiveRequest(request.action.persistent, followed))
        self.completed = False

    def follow(self, action: MatchAction) -> bool:
        """Follow a call; return whether the request is still pending, or complete alone."""
        if not any(request.followed for request in self._live.live):
            return False
        if action.kind in (ActionKind.REQUEST, ActionKind.PREPARE):
            self._live.add(_LiveRequest(action.persistent))
        elif action.kind in (ActionKind.COMPLETE, ActionKind.FREE, ActionKind.CANCEL):
            named = self._live.at(action.ages)
            if any(request.followed for request in named):
                self.completed = action.kind is ActionKind.COMPLETE and len(named) == 1
                return self.completed
            if action.kind is not ActionKind.CANCEL:
                self._live.end(action.ages, freed=action.kind is ActionKind.FREE)
        return True
