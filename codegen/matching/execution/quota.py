"""Whether all receives of a rank can still get a message, whatever the order.

Kinds of receives (sender and tag, either of them open) and kinds of messages are the two sides of a transport
problem. A plan is kept in which every receive has a message; one may take what the plan gives to another if
the plan can be mended, which a search for an augmenting path says (Ford and Fulkerson).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping

from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["Kind", "Quota"]

Kind = tuple[int, int]
"""Sender and tag: of a receive with ANY_SOURCE and ANY_TAG, of a message without."""


class Quota:
    """The messages that one rank gets on one channel, and the receives that it posts there."""

    def __init__(self, messages: Mapping[Kind, int], receives: Mapping[Kind, int]) -> None:
        self._messages, self._receives = Counter(messages), Counter(receives)
        self._left = Counter(messages)
        """Messages that the plan gives to nobody."""
        self._plan: dict[Kind, Counter[Kind]] = {}
        self.whole = all(self._give(kind, n) for kind, n in sorted(receives.items(), reverse=True))
        """Whether there are enough messages at all; if not, anything is allowed."""

    def allows(self, receive: Kind, message: Kind) -> bool:
        """Whether a receive can take a message, and all others still get one."""
        if not self.whole or self._plan.get(receive, Counter())[message] or self._left[message]:
            return True
        return self._freed(message, receive) is not None

    def take(self, receive: Kind, message: Kind) -> None:
        """A receive takes a message."""
        self._messages[message] -= 1
        self._receives[receive] -= 1
        if not self.whole:
            return
        mine = self._plan.get(receive, Counter())
        if not mine[message]:
            self.whole = self._exchange(receive, message)
        if self.whole:
            mine[message] -= 1

    def later(self, taken: Mapping[tuple[Kind, Kind], int], times: int) -> Quota:
        """What is left when all this, (receive, message), is taken so many times."""
        messages, receives = Counter(self._messages), Counter(self._receives)
        for (receive, message), n in taken.items():
            receives[receive] -= n * times
            messages[message] -= n * times
        return Quota(messages, receives)

    def _exchange(self, receive: Kind, message: Kind) -> bool:
        """Mend the plan so that it gives this message to a receive of this kind; whether that can be."""
        mine = self._plan.get(receive, Counter())
        free_kind = next((kind for kind, n in mine.items() if n > 0), None)
        path: list[tuple[Kind, Kind, Kind]] = []
        if free_kind is not None and not self._left[message]:
            freed = self._freed(message, receive)
            path, free_kind = (freed, free_kind) if freed else ([], None)
            if path and mine[path[-1][2]] > 0:
                free_kind = path[-1][2]
        if free_kind is None:
            return False
        mine[free_kind] -= 1
        self._left[free_kind] += 1
        self._move(path)
        self._left[message] -= 1
        mine[message] += 1
        return True

    def _freed(self, message: Kind, receive: Kind) -> list[tuple[Kind, Kind, Kind]] | None:
        """Moves (receive, from, to) after which such a message is left, if `receive` gives one of its own."""
        mine = self._plan.get(receive, Counter())
        queue, came = deque([message]), dict[Kind, tuple[Kind, Kind] | None]({message: None})
        while queue:
            kind = queue.popleft()
            if kind != message and (self._left[kind] > 0 or mine[kind] > 0):
                return _path(came, kind)
            for holder, plan in self._plan.items():
                if holder != receive and plan[kind] > 0:
                    for to in self._left:
                        if to not in came and _fits(holder, to):
                            came[to] = holder, kind
                            queue.append(to)
        return None

    def _give(self, receive: Kind, n: int) -> bool:
        """Plan messages for n more receives of a kind."""
        plan = self._plan.setdefault(receive, Counter())
        while n > 0:
            path_to_spare = self._path_to_spare(receive)
            if path_to_spare is None:
                return False
            first, path = path_to_spare
            spare = path[-1][2] if path else first
            many = min([n, self._left[spare], *(self._plan[holder][kind] for holder, kind, _ in path)])
            self._move(path, many)
            self._left[first] -= many
            plan[first] += many
            n -= many
        return True

    def _path_to_spare(self, receive: Kind) -> tuple[Kind, list[tuple[Kind, Kind, Kind]]] | None:
        starts = [kind for kind in self._left if _fits(receive, kind)]
        queue, came = deque(starts), dict[Kind, tuple[Kind, Kind] | None](dict.fromkeys(starts))
        while queue:
            kind = queue.popleft()
            if self._left[kind] > 0:
                path = _path(came, kind)
                return (path[0][1] if path else kind), path
            for holder, plan in self._plan.items():
                if plan[kind] > 0:
                    for to in self._left:
                        if to not in came and _fits(holder, to):
                            came[to] = holder, kind
                            queue.append(to)
        return None

    def _move(self, path: list[tuple[Kind, Kind, Kind]], n: int = 1) -> None:
        for holder, kind, to in reversed(path):
            self._plan[holder][kind] -= n
            self._left[kind] += n
            self._plan[holder][to] += n
            self._left[to] -= n


def _path(came: Mapping[Kind, tuple[Kind, Kind] | None], end: Kind) -> list[tuple[Kind, Kind, Kind]]:
    """The moves that lead to a message kind, first first."""
    path = []
    while (step := came[end]) is not None:
        path.append((step[0], step[1], end))
        end = step[1]
    return path[::-1]


def _fits(receive: Kind, message: Kind) -> bool:
    return receive[0] in (ANY_SOURCE, message[0]) and receive[1] in (ANY_TAG, message[1])
