"""Bounds of the end of a call: messages that it receives, and collectives that others enter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from scalatrace.predict.lowering import (
    CollectiveAction,
    LoweredAction,
    LoweredStep,
    RecvMessage,
    SendMessage,
    WaitAction,
)

__all__ = [
    "Board",
    "ChannelKey",
    "Entered",
    "Finished",
    "Need",
    "NeededPart",
    "Posted",
    "RankParts",
    "Received",
    "SentMessage",
    "find_awaited",
]  # fmt: skip

ChannelKey = tuple[int, int, int]
"""Source, destination and tag of a message."""


class SentMessage(NamedTuple):
    """A message of a rank: that with this serial number among those of its key."""

    key: ChannelKey
    serial: int
    nbytes: int
    request: int | None


class Received(NamedTuple):
    """A received message: that with this serial number among those of its key."""

    key: ChannelKey
    serial: int
    nbytes: int
    request: int | None


class Posted(NamedTuple):
    """The beginning of a nonblocking receive."""

    request: int


class Finished(NamedTuple):
    """The end of a nonblocking send."""

    request: int


NeededPart = SentMessage | Received | Posted | Finished


class RankMessages:
    """Numbers the messages of a rank in MPI's order, so that both ends give a message the same number."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._sent: dict[tuple[int, int], int] = defaultdict(int)
        self._posted: dict[tuple[int, int], int] = defaultdict(int)
        self._open: dict[int, Received | Finished] = {}

    def of(self, action: LoweredAction) -> Iterator[NeededPart]:
        """Yield the beginnings and ends of messages in an action."""
        match action:
            case SendMessage(peer, nbytes, tag, request):
                serial = self._sent[peer, tag]
                self._sent[peer, tag] += 1
                if request is not None:
                    self._open[request] = Finished(request)
                yield SentMessage((self._number, peer, tag), serial, nbytes, request)
            case RecvMessage(peer, nbytes, tag, request):
                serial = self._posted[peer, tag]
                self._posted[peer, tag] += 1
                received = Received((peer, self._number, tag), serial, nbytes, request)
                if request is None:
                    yield received
                else:
                    self._open[request] = received
                    yield Posted(request)
            case WaitAction(requests):
                for request in requests:
                    if request in self._open:
                        yield self._open.pop(request)


class Need(NamedTuple):
    """A message, or ranks that enter a collective, before which a call does not end.

    Attributes:
        place: key of the messages, or of the collective.
        serial: number of the message or of the collective.
        ranks: positions in the collective; empty for a message.
    """

    place: Hashable
    serial: int
    ranks: range | tuple[int, ...] = ()


class Entered(NamedTuple):
    """A collective that a rank enters, as the member at a position of so many."""

    need: Need
    position: int
    nranks: int


class RankParts:
    """The beginnings and ends of messages and collectives of a rank.

    Args:
        number: of the rank.
        by_family: whether collectives of communicators with equal members have orders of their own.
    """

    def __init__(self, number: int, by_family: bool) -> None:
        self._messages, self._by_family = RankMessages(number), by_family
        self._counts: dict[Hashable, int] = defaultdict(int)

    def of(self, step: LoweredStep) -> list[NeededPart | Entered]:
        """Return those of a call; call it for all calls of the rank."""
        return [part for action in step.actions for part in self._of_action(step, action)]

    def _of_action(self, step: LoweredStep, action: LoweredAction) -> Iterator[NeededPart | Entered]:
        if not isinstance(action, CollectiveAction):
            yield from self._messages.of(action)
            return
        place = ("collective", action.members, step.call.family if self._by_family else 0)
        need = Need(place, self._counts[place], find_awaited(action))
        self._counts[place] += 1
        yield Entered(need, action.shape.rank, action.shape.nranks)


@dataclass
class _Instance:
    """Entries to one collective call, and the ranks that have not left it."""

    entered: dict[int, int] = field(default_factory=dict)
    left: int = 0


class Board:
    """Times at which messages were sent and collectives entered, ns, until they are used."""

    def __init__(self) -> None:
        self._sent: dict[Hashable, dict[int, int]] = defaultdict(dict)
        self._instances: dict[tuple[Hashable, int], _Instance] = defaultdict(_Instance)

    def send(self, place: Hashable, serial: int, time: int) -> None:
        """Record a message, or a request that another thread may complete."""
        self._sent[place][serial] = time

    def enter(self, need: Need, position: int, time: int) -> None:
        """Record that a rank enters a collective."""
        self._instances[need.place, need.serial].entered[position] = time

    def bound(self, need: Need, nranks: int = 0) -> int | None:
        """Return the time before which the call does not end, ns; None if it is not known yet.

        The time of a message, and a collective that all `nranks` ranks have asked for, are forgotten then.
        """
        if not nranks:
            return self._sent[need.place].pop(need.serial, None)
        instance = self._instances[need.place, need.serial]
        if not all(rank in instance.entered for rank in need.ranks):
            return None
        instance.left += 1
        if instance.left == nranks:
            del self._instances[need.place, need.serial]
        return max((instance.entered[rank] for rank in need.ranks), default=0)


def find_awaited(action: CollectiveAction) -> range | tuple[int, ...]:
    """Return the positions of the ranks that a rank waits for in a collective."""
    operation, rank, n, _, root, *_ = action.shape
    if operation in ("bcast", "scatter", "scatterv"):
        return (root,)
    if operation in ("reduce", "gather", "gatherv"):
        return range(n) if rank == root else ()
    return range(rank + 1) if operation == "scan" else range(n)
