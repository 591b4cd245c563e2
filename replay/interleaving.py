"""Search an order of messages in which each receive takes one that fits, by backtracking.

The messages of one sender and tag are taken in the order in which they are sent, as MPI guarantees. A receive
with ANY_TAG takes the first of its sender that is left. States that led nowhere are remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scalatrace.trace.values import ANY_SOURCE, ANY_TAG

__all__ = ["Message", "Receive", "interleaving"]

NOBODY = -1


class Message(NamedTuple):
    """A message to this rank.

    Attributes:
        earliest: number of the first receive that it can reach, as what its sender waits for is sent before.
    """

    tag: int
    nbytes: int
    earliest: int = 0


@dataclass(slots=True)
class Receive:
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
    likely: int = NOBODY

    def takes(self, message: Message | None) -> bool:
        """Return whether the message can be what this receive takes."""
        return (
            message is not None
            and message.earliest <= self.number
            and (message.nbytes == self.nbytes or (not self.exact and message.nbytes < self.nbytes))
        )


class _Lane:
    """The messages of one sender, some of them taken."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._of_tag: dict[int, list[int]] = {}
        for place, message in enumerate(messages):
            self._of_tag.setdefault(message.tag, []).append(place)
        self.taken = dict.fromkeys(self._of_tag, 0)

    def head(self, tag: int) -> Message | None:
        """Return the message that a receive with this tag, or ANY_TAG, would take."""
        tags = self._of_tag if tag == ANY_TAG else (tag,)
        places = [
            self._of_tag[t][self.taken[t]]
            for t in tags
            if self.taken.get(t, 0) < len(self._of_tag.get(t, ()))
        ]
        return self._messages[min(places)] if places else None


def interleaving(
    receives: Sequence[Receive], messages: Mapping[int, Sequence[Message]], max_steps: int
) -> list[int] | None:
    """Return the sender of each receive's message, or None when there is no order or the search is too long.

    Args:
        receives: in the order in which they are posted.
        messages: by sender, in the order in which they are sent.
        max_steps: limit of receives tried.
    """
    lanes = {sender: _Lane(sent) for sender, sent in messages.items()}
    failed: set[tuple[int, ...]] = set()
    untried: list[Iterator[int]] = []
    taken: list[tuple[int, int]] = []
    while len(taken) < len(receives):
        receive = receives[len(taken)]
        if len(untried) == len(taken):
            known = failed and _state(lanes) in failed
            untried.append(iter(()) if known else _candidates(receive, lanes))
        sender = next(untried[-1], None)
        if sender is not None:
            max_steps -= 1
            if max_steps < 0:
                return None
            tag = lanes[sender].head(receive.tag).tag  # type: ignore[union-attr]
            lanes[sender].taken[tag] += 1
            taken.append((sender, tag))
            continue
        failed.add(_state(lanes))
        untried.pop()
        if not taken:
            return None
        sender, tag = taken.pop()
        lanes[sender].taken[tag] -= 1
    return [sender for sender, _ in taken]


def _state(lanes: Mapping[int, _Lane]) -> tuple[int, ...]:
    return tuple(n for lane in lanes.values() for n in lane.taken.values())


def _candidates(receive: Receive, lanes: Mapping[int, _Lane]) -> Iterator[int]:
    """Yield the senders that a receive can take a message of: the likely one, equal lengths, shorter ones."""
    senders = lanes if receive.source == ANY_SOURCE else (receive.source,)
    if receive.likely in lanes and receive.likely in senders and _fits(receive, lanes[receive.likely]):
        yield receive.likely
    shorter = []
    for sender in senders:
        if sender == receive.likely or sender not in lanes or not _fits(receive, lanes[sender]):
            continue
        head = lanes[sender].head(receive.tag)
        if head is not None and head.nbytes == receive.nbytes:
            yield sender
        else:
            shorter.append(sender)
    yield from shorter


def _fits(receive: Receive, lane: _Lane) -> bool:
    return receive.takes(lane.head(receive.tag))
