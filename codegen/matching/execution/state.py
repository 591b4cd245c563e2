"""The state of an execution: ranks, mailboxes, collectives, and matches since the last loop edge."""

from __future__ import annotations

from collections import deque

from scalatrace.codegen.matching.execution.actor import Actor
from scalatrace.codegen.matching.execution.collective_state import CollectiveState
from scalatrace.codegen.matching.execution.mailbox import MatchMailbox
from scalatrace.codegen.matching.execution.quota import Kind, Quota
from scalatrace.codegen.matching.execution.script import Script
from scalatrace.codegen.matching.execution.traffic import Box

__all__ = ["ExecutionState"]


class ExecutionState:
    """State that a steady loop must leave unchanged.

    Attributes:
        quotas: messages that are still needed, by mailbox.
        taken: matches since the last loop edge: mailbox, kind of the receive, kind of the message.
        ready: ranks that can go on.
    """

    def __init__(self, script: Script, quotas: dict[Box, Quota], synchronous: bool) -> None:
        self.script, self.quotas, self.synchronous = script, quotas, synchronous
        self.actors = {rank: Actor(rank, script.of(rank)) for rank in script.trace.ranks}
        self.collectives = CollectiveState(synchronous)
        self.mailboxes: dict[tuple[object, int], MatchMailbox] = {}
        self.taken: list[tuple[Box, Kind, Kind]] = []
        self.ready: deque[Actor] = deque(self.actors.values())

    def resume(self, actor: Actor) -> None:
        """Let a rank go on that waits at a loop edge."""
        actor.edge = None
        self.ready.append(actor)
