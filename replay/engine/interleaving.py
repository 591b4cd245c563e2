"""Search an order of messages in which each receive takes one that fits, by backtracking.

The messages of one sender and tag are taken in the order in which they are sent, as MPI guarantees. A receive
with ANY_TAG takes the first of its sender that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["IncomingMessage", "RankReceive", "interleaving"]

NO_SENDER = -1

MAX_LOOKS = 1 << 22
"""Messages looked at in one search: about three seconds."""


class IncomingMessage(NamedTuple):
    """A message to this rank.

    Attributes:
        earliest: number of the first receive that it can match: its sender waits for messages that are sent
            before.
    """

    tag: int
    nbytes: int
    earliest: int = 0


@dataclass(slots=True)
class RankReceive:
    """A receive of this rank.

    Attributes:
        number: its place among all receives of the rank.
        source: world rank, or ANY_SOURCE.
        nbytes: length of its buffer.
        exact: the message was measured before, so it has that length; else it has at most that.
        likely: sender to try first.
    """

    number: int
    source: int
    tag: int
    nbytes: int
    exact: bool
    likely: int = NO_SENDER

    def takes(self, message: IncomingMessage | None) -> bool:
        """Return whether the receive can take a message."""
        return (
            message is not None
            and message.earliest <= self.number
            and (message.nbytes == self.nbytes or (not self.exact and message.nbytes < self.nbytes))
        )


def interleaving(
    receives: Sequence[RankReceive],
    messages: Mapping[int, Sequence[IncomingMessage]],
    max_looks: int = MAX_LOOKS,
) -> list[int] | None:
    """Return the sender of each receive's message; None when there is no order, or the search takes too long.

    Args:
        receives: in the order in which they are posted.
        messages: by sender, in the order in which they are sent.
        max_looks: limit of messages looked at.
    """
    return _OrderSearch(messages, max_looks).run(receives)


class _Lane:
    """The messages of one sender.

    Attributes:
        left: number of messages that no receive has taken.
        taken: number of taken messages by tag.
    """

    __slots__ = ("_of_tag", "left", "taken")

    def __init__(self, messages: Sequence[IncomingMessage]) -> None:
        self._of_tag: dict[int, list[tuple[int, IncomingMessage]]] = {}
        for place, message in enumerate(messages):
            self._of_tag.setdefault(message.tag, []).append((place, message))
        self.left = len(messages)
        self.taken = dict.fromkeys(self._of_tag, 0)

    def head(self, tag: int) -> IncomingMessage | None:
        """Return the message that a receive with this tag, or ANY_TAG, would take."""
        if tag == ANY_TAG:
            heads = [sent[self.taken[t]] for t, sent in self._of_tag.items() if self.taken[t] < len(sent)]
            return min(heads)[1] if heads else None
        sent = self._of_tag.get(tag, ())
        return sent[self.taken[tag]][1] if sent and self.taken[tag] < len(sent) else None

    def take(self, tag: int, n: int = 1) -> None:
        """Take the next message with this tag; with n = -1 give the last one back."""
        self.taken[tag] += n
        self.left -= n


class _OrderSearch:
    """Depth-first search; states that led nowhere are remembered.

    Attributes:
        looks: how many messages may still be looked at.
    """

    def __init__(self, messages: Mapping[int, Sequence[IncomingMessage]], max_looks: int) -> None:
        self._lanes = {sender: _Lane(sent) for sender, sent in messages.items()}
        self.looks = max_looks

    def run(self, receives: Sequence[RankReceive]) -> list[int] | None:
        failed: set[tuple[int, ...]] = set()
        untried: list[Iterator[int]] = []
        taken: list[tuple[int, int]] = []
        while len(taken) < len(receives) and self.looks > 0:
            receive = receives[len(taken)]
            if len(untried) == len(taken):
                has_failed = failed and self._state() in failed
                untried.append(iter(()) if has_failed else self._candidates(receive))
            sender = next(untried[-1], None)
            if sender is not None:
                tag = self._lanes[sender].head(receive.tag).tag  # type: ignore[union-attr]
                self._lanes[sender].take(tag)
                taken.append((sender, tag))
                continue
            failed.add(self._state())
            untried.pop()
            if not taken:
                return None
            sender, tag = taken.pop()
            self._lanes[sender].take(tag, -1)
        return [sender for sender, _ in taken] if len(taken) == len(receives) else None

    def _state(self) -> tuple[int, ...]:
        self.looks -= len(self._lanes)
        return tuple(n for lane in self._lanes.values() for n in lane.taken.values())

    def _candidates(self, receive: RankReceive) -> Iterator[int]:
        """Yield the senders whose next message the receive can take.

        First the likely one, then equal lengths before shorter ones, and senders with many messages left
        before others: the more senders have messages left, the more lengths there are to choose from.
        """
        lanes, tag = self._lanes, receive.tag
        senders = lanes if receive.source == ANY_SOURCE else {receive.source} & lanes.keys()
        self.looks -= 1
        if receive.likely in senders and receive.takes(lanes[receive.likely].head(tag)):
            yield receive.likely
        self.looks -= len(senders)
        fitting = []
        for sender in senders:
            message = lanes[sender].head(tag)
            if sender != receive.likely and message is not None and receive.takes(message):
                fitting.append((message.nbytes != receive.nbytes, -lanes[sender].left, sender))
        for _, _, sender in sorted(fitting):
            yield sender
