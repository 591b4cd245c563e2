"""The plainest execution of expanded calls: messages in a list, every rank asked in turn if it can go on.

Only for programs without open sources and tags: what happens in those does not depend on any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import ages
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.vec import ANY_TAG


@dataclass
class Message:
    source: int
    dest: int
    tag: int
    comm: tuple[int, ...]
    taken: bool = False


@dataclass
class Want:
    """A receive that was posted."""

    source: int
    dest: int
    tag: int
    comm: tuple[int, ...]
    got: Message | None = None


@dataclass
class State:
    calls: list[Call]
    at: int = 0
    begun: bool = False
    waits: list[Message | Want] = field(default_factory=list)
    live: list[Message | Want] = field(default_factory=list)
    met: dict[tuple[int, ...], int] = field(default_factory=dict)


class Naive:
    """An execution; `stuck` are the ranks that did not end, `messages` all that were sent."""

    def __init__(self, trace: Trace, synchronous: bool) -> None:
        self.synchronous = synchronous
        self.ranks = {rank: State(list(trace.walk(rank))) for rank in trace.ranks}
        self.messages: list[Message] = []
        self.wants: list[Want] = []
        while sum(self.advance(rank) for rank in self.ranks):
            pass
        self.stuck = [rank for rank, state in self.ranks.items() if state.at < len(state.calls)]

    @property
    def unreceived(self) -> list[Message]:
        return [message for message in self.messages if not message.taken]

    def advance(self, rank: int) -> bool:
        """Let a rank make at most one call."""
        state = self.ranks[rank]
        if state.at == len(state.calls):
            return False
        call = state.calls[state.at]
        if not state.begun:
            self.begin(rank, state, call)
            state.begun = True
        if not all(map(self.is_done, state.waits)) or not self.may_leave(rank, state, call):
            return False
        state.at, state.begun, state.waits = state.at + 1, False, []
        return True

    def begin(self, rank: int, state: State, call: Call) -> None:
        made = self.parts(rank, call)
        if call.op in ("Isend", "Irecv"):
            state.live += made
        elif "request" in call or "requests" in call:
            n = len(state.live)
            state.waits = [state.live[n - 1 - age] for age in ages(call)]
            state.live = [item for item in state.live if not any(item is gone for gone in state.waits)]
        else:
            state.waits = made
        if not made and "comm" in call:
            comm = call.comm.members
            state.met[comm] = state.met.get(comm, 0) + 1

    def parts(self, rank: int, call: Call) -> list[Message | Want]:
        made: list[Message | Want] = []
        if "source" in call:
            tag = call["recvtag"] if "recvtag" in call else call["tag"]
            want = Want(call.comm.world(call["source"]), rank, tag, call.comm.members)
            self.wants.append(want)
            made.append(want)
        if "dest" in call:
            tag = call["sendtag"] if "sendtag" in call else call["tag"]
            message = Message(rank, call.comm.world(call["dest"]), tag, call.comm.members)
            self.messages.append(message)
            made.append(message)
        return made

    def is_done(self, item: Message | Want) -> bool:
        if isinstance(item, Message):
            return not self.synchronous or item.taken or (self.match(item.dest) and item.taken)
        self.match(item.dest)
        return item.got is not None

    def match(self, dest: int) -> bool:
        """Give each receive, in the order of their posting, the first message that fits."""
        for want in self.wants:
            if want.dest == dest and want.got is None:
                for message in self.messages:
                    if not message.taken and fits(want, message):
                        want.got, message.taken = message, True
                        break
        return True

    def may_leave(self, rank: int, state: State, call: Call) -> bool:
        if "dest" in call or "source" in call or "comm" not in call:
            return True
        comm = call.comm.members
        return all(self.ranks[other].met.get(comm, 0) >= state.met[comm] for other in comm)


def fits(want: Want, message: Message) -> bool:
    return (want.source, want.dest, want.comm) == (
        message.source,
        message.dest,
        message.comm,
    ) and want.tag in (ANY_TAG, message.tag)
