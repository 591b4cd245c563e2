"""Match counted messages with counted receives, wildcard receives included.

    sent:     0 -> 2, tag 1: once;  1 -> 2, tag 1: once
    awaited:  any source -> 2, tag 1: once;  0 -> 2, any tag: once     both match: the first one takes 1 -> 2

Receives that name source and tag match first. The others of one rank share what is left: a maximum flow from
receives to messages, with augmenting paths.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import NamedTuple

from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["CountedMessage", "Counts", "Matched", "matched"]


class CountedMessage(NamedTuple):
    """Common attributes of messages or receives; ranks are world ranks."""

    family: int
    source: int
    dest: int
    tag: int

    @property
    def is_wild(self) -> bool:
        """Return whether a receive takes any source or any tag."""
        return self.source == ANY_SOURCE or self.tag == ANY_TAG

    def fits(self, sent: CountedMessage) -> bool:
        """Return whether this receive matches a message."""
        return (
            self.family == sent.family
            and self.dest == sent.dest
            and self.source in (ANY_SOURCE, sent.source)
            and self.tag in (ANY_TAG, sent.tag)
        )


Counts = Counter[CountedMessage]


@dataclass(frozen=True, slots=True)
class Matched:
    """The first receives without messages, else the first messages without receives, each with a count."""

    missing: tuple[CountedMessage, int] | None = None
    left: tuple[CountedMessage, int] | None = None


def matched(sent: Counts, awaited: Counts) -> Matched:
    """Match as many messages as possible, with those receives first that name source and tag."""
    unmatched, wild = sent.copy(), dict[tuple[int, int], list[CountedMessage]]()
    for key, n in awaited.items():
        if key.is_wild:
            wild.setdefault((key.family, key.dest), []).append(key)
        elif unmatched[key] < n:
            return Matched(missing=(key, n - unmatched[key]))
        else:
            unmatched[key] -= n
    arriving: dict[tuple[int, int], list[CountedMessage]] = {}
    if wild:
        for key in unmatched:
            if (key.family, key.dest) in wild:
                arriving.setdefault((key.family, key.dest), []).append(key)
    for place, receives in wild.items():
        flow = _ReceivedMessages(unmatched, arriving.get(place, []))
        # A receive with one wildcard has fewer messages to choose from.
        for key in sorted(receives, key=lambda key: (key.source == ANY_SOURCE) + (key.tag == ANY_TAG)):
            if missing := flow.add(key, awaited[key]):
                return Matched(missing=(key, missing))
    return Matched(left=next(((key, n) for key, n in unmatched.items() if n), None))


class _ReceivedMessages:
    """The messages that the receives of one rank take from the remaining ones."""

    def __init__(self, unmatched: Counts, arriving: list[CountedMessage]) -> None:
        self._left = unmatched
        self._arriving = arriving
        self._by_source: dict[int, list[CountedMessage]] = {}
        self._by_tag: dict[int, list[CountedMessage]] = {}
        for key in arriving:
            self._by_source.setdefault(key.source, []).append(key)
            self._by_tag.setdefault(key.tag, []).append(key)
        self._taken: dict[CountedMessage, Counts] = {}

    def add(self, receive: CountedMessage, n: int) -> int:
        """Take n messages for a receive; return how many are missing."""
        taken = self._taken.setdefault(receive, Counter())
        for key in self._find_fitting(receive) if n else ():
            if n and self._left[key]:
                matched_count = min(n, self._left[key])
                self._left[key] -= matched_count
                taken[key] += matched_count
                n -= matched_count
        while n and (path := self._find_augmenting_path(receive)):
            n -= self._shift(receive, path, n)
        return n

    def _find_fitting(self, receive: CountedMessage) -> list[CountedMessage]:
        """Return the messages that a receive with a wildcard takes."""
        if receive.source != ANY_SOURCE:
            return self._by_source.get(receive.source, [])
        return self._arriving if receive.tag == ANY_TAG else self._by_tag.get(receive.tag, [])

    def _find_augmenting_path(
        self, receive: CountedMessage
    ) -> list[tuple[CountedMessage, CountedMessage | None]]:
        """A shortest path to a message that is left: each message, and the receive that gives it up."""
        before: dict[CountedMessage, tuple[CountedMessage, CountedMessage]] = {}
        queue = deque([receive])
        while queue:
            flow_node = queue.popleft()
            for key in self._find_fitting(flow_node):
                if self._left[key]:
                    path: list[tuple[CountedMessage, CountedMessage | None]] = [(key, None)]
                    while flow_node != receive:
                        giver = flow_node
                        flow_node, key = before[giver]
                        path.append((key, giver))
                    return path[::-1]
                for receive_key, taken in self._taken.items():
                    if taken[key] and receive_key != receive and receive_key not in before:
                        before[receive_key] = flow_node, key
                        queue.append(receive_key)
        return []

    def _shift(
        self, receive: CountedMessage, path: list[tuple[CountedMessage, CountedMessage | None]], n: int
    ) -> int:
        """Let each receive of the path take the next message; return how many."""
        n = min(n, self._left[path[-1][0]], *(self._taken[giver][key] for key, giver in path[:-1] if giver))
        for key, giver in path:
            self._taken[receive][key] += n
            if giver is None:
                self._left[key] -= n
            else:
                self._taken[giver][key] -= n
                receive = giver
        return n
