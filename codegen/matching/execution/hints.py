"""Guess whose message a receive from any source got in the recorded run, by what its rank does next.

A manager answers whom it heard: its first message after it completed a receive goes to the sender. A receive
that is pending is followed to the call that completes its request. Later requests change its age.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from scalatrace.codegen.matching.execution.actor import Actor
from scalatrace.codegen.matching.execution.mailbox import PostedReceive
from scalatrace.codegen.matching.execution.match_actions import ActionKind, MatchAction, MatchActions
from scalatrace.trace.query.requests import LiveRequests

__all__ = ["hinted_sender"]


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


class _Live(NamedTuple):
    """A live request: whether completion leaves it, and whether it is the followed one."""

    persistent: bool
    followed: bool = False


class _Followed:
    """The request of a pending receive among the live ones of its rank, which calls to come change."""

    def __init__(self, actor: Actor, post: PostedReceive) -> None:
        self._live = LiveRequests[_Live](lambda request: request.persistent)
        for request in actor.requests.live:
            followed = any(item is post for item in request.items)
            self._live.add(_Live(request.action.persistent, followed))
        self.completed = False

    def follow(self, action: MatchAction) -> bool:
        """Follow a call; return whether the request is still pending, or complete alone."""
        if not any(request.followed for request in self._live.live):
            return False
        if action.kind in (ActionKind.REQUEST, ActionKind.PREPARE):
            self._live.add(_Live(action.persistent))
        elif action.kind in (ActionKind.COMPLETE, ActionKind.FREE, ActionKind.CANCEL):
            named = self._live.at(action.ages)
            if any(request.followed for request in named):
                self.completed = action.kind is ActionKind.COMPLETE and len(named) == 1
                return self.completed
            if action.kind is not ActionKind.CANCEL:
                self._live.end(action.ages, freed=action.kind is ActionKind.FREE)
        return True
