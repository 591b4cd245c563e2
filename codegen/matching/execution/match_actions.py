"""Translate calls of a trace to the actions that matching knows: send, receive, collective, completion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum, auto

from scalatrace.codegen.matching.execution.scopes import WORLD, CommScope, Scopes, stream_parameter
from scalatrace.operations import Category, Flow, Mode, Operation, is_collective, operation
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import ENDING, POLLING, STARTING, ages
from scalatrace.trace.query.walk import Call, CompiledEvent
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = [
    "ActionKind",
    "Channel",
    "CollectiveCall",
    "Finish",
    "MatchAction",
    "MatchActions",
    "MatchedReceive",
    "MatchedSend",
    "NamedSender",
    "cancels",
    "is_inert",
]  # fmt: skip

Channel = tuple[int, int, bool]
"""Messages of one channel match each other: family, first member, whether partitioned."""


class ActionKind(IntEnum):
    """Kinds of actions of a rank."""

    NONE = auto()
    COMMUNICATE = auto()  # send, receive, probe or collective; wait until it is done
    REQUEST = auto()  # begin one of these, and create a request
    PREPARE = auto()  # create a persistent request
    START = auto()
    COMPLETE = auto()
    FREE = auto()
    CANCEL = auto()


class Finish(IntEnum):
    """Ranks that a collective call waits for where MPI buffers; elsewhere each rank waits for all."""

    ALL = auto()
    ROOT = auto()  # data goes out from the root: the others wait for it alone
    AT_ROOT = auto()  # data comes together at the root: only it waits
    NONE = auto()


@dataclass(frozen=True, slots=True)
class MatchedSend:
    """A message to a world rank. `synchronous`: None as MPI likes, else whether it waits for its receive."""

    channel: Channel
    dest: int
    tag: int
    synchronous: bool | None


@dataclass(frozen=True, slots=True)
class MatchedReceive:
    """A receive or probe (`takes` false) of a world rank's message, or ANY_SOURCE's.

    Attributes:
        event: the node whose parameters are the source and the tag.
        scope: to name senders in its communicator.
        wild: whether the program left source or tag open, even if only one is possible.
        cancellable: whether a Cancel may end it without a message.
    """

    channel: Channel
    source: int
    tag: int
    takes: bool
    event: Event
    scope: CommScope
    wild: bool
    cancellable: bool

    @property
    def is_named(self) -> bool:
        """Whether the call alone says whose message it gets."""
        return not (self.wild or self.cancellable)


@dataclass(frozen=True, slots=True)
class CollectiveCall:
    """A rank's call of a collective operation: its stream, its members, and the ranks it waits for."""

    stream: tuple[int, int, str, int]
    op: str
    members: tuple[int, ...]
    finish: Finish
    root: int


@dataclass(frozen=True, slots=True)
class NamedSender:
    """The sender (a number in the communicator) and tag that a receive names, open or not."""

    peer: int
    tag: int
    scope: CommScope | None


@dataclass(frozen=True, slots=True)
class MatchAction:
    """The action of a call.

    Attributes:
        ages: ages of the requests that the call names.
        named: source and tag, of every call that can receive.
    """

    kind: ActionKind
    event: Event
    op: str
    send: MatchedSend | None = None
    receive: MatchedReceive | None = None
    collective: CollectiveCall | None = None
    ages: tuple[int, ...] = ()
    named: NamedSender | None = None
    persistent: bool = False

    @property
    def polls(self) -> bool:
        """Whether the call returns at once if it has no result: a test or a nonblocking probe."""
        return self.op in POLLING


CertainMatch = Callable[[MatchedReceive, int], tuple[int, int] | None]
"""Gives the only sender and tag that a receive of a rank can match; None if there are several."""


class MatchActions:
    """Translates calls, and caches actions by node, rank and values; by place where all values are equal."""

    def __init__(
        self, trace: Trace, scopes: Scopes, certain_match: CertainMatch | None = None, blocking: bool = False
    ) -> None:
        """Start with an empty cache.

        Args:
            certain_match: gives source and tag of a receive with wildcards that can match in one way only.
            blocking: treat nonblocking collectives as waiting where they start.
        """
        self.blocking = blocking
        self.trace, self._certain_match = trace, certain_match
        self._scopes, self._cancels = scopes, cancels(trace)
        self._of_place: dict[CompiledEvent, MatchAction] = {}
        self._of_values: dict[tuple[int, int, tuple[int, ...]], MatchAction] = {}

    def of(self, call: Call) -> MatchAction:
        """Return the action of a call."""
        action = self._of_place.get(call.place)
        if action is not None:
            return action
        # Each walk makes its own places; a node and a rank are the same in all of them.
        key = (id(call.node), call.rank, call.values)
        action = self._of_values.get(key)
        if action is None:
            action = self._of_values[key] = self._make(call)
        if call.place.constant:
            self._of_place[call.place] = action
        return action

    def _make(self, call: Call) -> MatchAction:
        row = operation(call.op)
        base = row.base
        if base in ENDING:
            return MatchAction(ActionKind.COMPLETE, call.node, call.op, ages=tuple(ages(call)))
        if base in STARTING:
            return MatchAction(ActionKind.START, call.node, call.op, ages=tuple(ages(call)))
        if base in ("Request_free", "Cancel"):
            kind = ActionKind.FREE if base == "Request_free" else ActionKind.CANCEL
            return MatchAction(kind, call.node, call.op, ages=tuple(ages(call)) if "request" in call else ())
        scope = self._scopes.of(call.family, call.rank)
        send, receive, collective = (None, None, None) if scope is None else self._parts(call, row, scope)
        named = _named(call, row, scope)
        if not (send or receive or collective or named or row.makes_request):
            return MatchAction(ActionKind.NONE, call.node, call.op)
        kind = (
            ActionKind.PREPARE
            if row.flow_later
            else ActionKind.REQUEST
            if row.makes_request
            else ActionKind.COMMUNICATE
        )
        return MatchAction(
            kind, call.node, call.op, send, receive, collective, named=named, persistent=row.flow_later
        )

    def _parts(
        self, call: Call, row: Operation, scope: CommScope
    ) -> tuple[MatchedSend | None, MatchedReceive | None, CollectiveCall | None]:
        if is_collective(call.op):
            return None, None, _collective(call, row, scope)
        if row.category not in _POINT_TO_POINT or (row.matched and not row.is_matched_probe):
            return None, None, None
        channel = (*scope.key, row.is_partitioned)
        return (
            _send(call, row, scope, channel),
            self._certain(call, _receive(call, row, scope, channel, self._cancels)),
            None,
        )

    def _certain(self, call: Call, receive: MatchedReceive | None) -> MatchedReceive | None:
        if receive is None or not receive.wild or self._certain_match is None:
            return receive
        result = self._certain_match(receive, call.rank)
        return receive if result is None else replace(receive, source=result[0], tag=result[1])


_POINT_TO_POINT = (Category.SEND, Category.RECV, Category.SENDRECV, Category.PROBE, Category.PERSISTENT)


_ABOUT_REQUESTS = ENDING | STARTING | {"Request_free", "Cancel"}


def cancels(trace: Trace) -> bool:
    """Whether a trace has calls that may end a receive without a message."""
    return any(op.name == "Cancel" for op in trace.ops)


def is_inert(op: str) -> bool:
    """Whether calls of an operation have no action, whatever their parameters are."""
    row = operation(op)
    if row.base in _ABOUT_REQUESTS or row.makes_request or is_collective(op):
        return False
    return row.category not in _POINT_TO_POINT and (row.recvs is None or row.recvs.peer != "source")


def _send(call: Call, row: Operation, scope: CommScope, channel: Channel) -> MatchedSend | None:
    if row.sends is None or (dest := scope.world(call.raw(row.sends.peer))) is None:
        return None
    synchronous = {Mode.SYNCHRONOUS: True, Mode.BUFFERED: False}.get(row.mode)
    return MatchedSend(channel, dest, _tag(call, "sendtag"), synchronous)


def _receive(
    call: Call, row: Operation, scope: CommScope, channel: Channel, cancelled: bool
) -> MatchedReceive | None:
    flow: Flow | None = row.recvs
    if flow is None or flow.peer not in call:
        return None
    stored = call.raw(flow.peer)
    source = ANY_SOURCE if stored == ANY_SOURCE else scope.world(stored)
    if source is None:
        return None
    takes = row.category is not Category.PROBE or row.matched
    tag = _tag(call, "recvtag")
    wild = source == ANY_SOURCE or tag == ANY_TAG
    return MatchedReceive(
        channel, source, tag, takes, call.node, scope, wild, cancelled and row.makes_request
    )


def _named(call: Call, row: Operation, scope: CommScope | None) -> NamedSender | None:
    if row.recvs is None or row.recvs.peer != "source" or "source" not in call:
        return None
    return NamedSender(call.raw("source"), _tag(call, "recvtag"), scope)


def _tag(call: Call, name: str) -> int:
    return call.raw(name) if name in call else call.raw("tag") if "tag" in call else ANY_TAG


def _collective(call: Call, row: Operation, scope: CommScope) -> CollectiveCall:
    inner = stream_parameter(call.place.op)
    family, first = scope.key if call.place.comm_at is not None else (WORLD, scope.members[0])
    stream = (family, first, inner, call.raw(inner) if inner else -1)
    finish, root = Finish.ALL, -1
    if row.category is Category.COLLECTIVE and scope.comm.remote is None:
        finish = _finish(row)
        if finish in (Finish.ROOT, Finish.AT_ROOT):
            there = scope.world(call.raw("root")) if "root" in call else None
            finish, root = (Finish.ALL, -1) if there is None else (finish, there)
    return CollectiveCall(stream, call.op, scope.members, finish, root)


def _finish(row: Operation) -> Finish:
    """By who has a buffer to send from and to receive into."""
    sends, recvs = row.sends, row.recvs
    if sends is None or recvs is None:
        return Finish.ALL
    if sends.where == "root":
        return Finish.ROOT
    return Finish.AT_ROOT if recvs.where == "root" else Finish.ALL
