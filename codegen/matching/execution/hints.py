"""Guess whose message a receive from any source got in the recorded run, by what its rank does next.

A manager answers whom it heard: its first message after it completed a receive goes to the sender. A receive
that is pending is followed to the call that completes its request. Later requests change its age.
"""

from __future__ import annotations

from collections.abc import Container

from scalatrace.codegen.matching.execution.actor import Actor
from scalatrace.codegen.matching.execution.mailbox import Post
from scalatrace.codegen.matching.execution.match_actions import ActionKind, MatchAction, MatchActions

__all__ = ["hinted_sender"]


def hinted_sender(actor: Actor, post: Post, actions: MatchActions, senders: Container[int]) -> int | None:
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


class _Followed:
    """The request of a pending receive among the live ones of its rank, which calls to come change."""

    def __init__(self, actor: Actor, post: Post) -> None:
        """`live`: whether a request is persistent, and whether it is the followed one."""
        self._live = [
            (request.action.persistent, any(item is post for item in request.items))
            for request in actor.requests.live
        ]
        self.completed = False

    def follow(self, action: MatchAction) -> bool:
        """Follow a call; return whether the request is still pending, or complete alone."""
        if not any(followed for _, followed in self._live):
            return False
        if action.kind in (ActionKind.REQUEST, ActionKind.PREPARE):
            self._live.append((action.persistent, False))
        elif action.kind in (ActionKind.COMPLETE, ActionKind.FREE, ActionKind.CANCEL):
            named = [len(self._live) - 1 - age for age in action.ages if 0 <= age < len(self._live)]
            if any(self._live[place][1] for place in named):
                self.completed = action.kind is ActionKind.COMPLETE and len(named) == 1
                return self.completed
            if action.kind is not ActionKind.CANCEL:
                freed = action.kind is ActionKind.FREE
                ended = {place for place in named if freed or not self._live[place][0]}
                self._live = [request for i, request in enumerate(self._live) if i not in ended]
        return True
