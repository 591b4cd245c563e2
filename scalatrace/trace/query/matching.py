"""Match the communicators of two records of one run, which number them differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["CommMatcher", "Description"]


class Description(NamedTuple):
    """Facts that a rank knows of a communicator: kind, parent's number or -1, members, remote members."""

    kind: str
    parent: int
    members: Sequence[int]
    remote: Sequence[int] | None


class CommMatcher:
    """A one-to-one correspondence between communicator numbers, completed as pairs of calls use them.

    Duplicates of one communicator have equal descriptions; the first call that uses one identifies it.
    """

    def __init__(self, left: Callable[[int], Description], right: Callable[[int], Description]) -> None:
        self._left, self._right = left, right
        self._pairs: dict[int, int] = {}
        self._back: dict[int, int] = {}

    def match(self, left: int, right: int) -> bool:
        """Match two communicators; return whether they may be the same. If so, they stay matched."""
        if left < 0 or right < 0:
            return left == right
        if left in self._pairs or right in self._back:
            return self._pairs.get(left) == right
        a, b = self._left(left), self._right(right)
        if (a.kind, tuple(a.members), a.remote) != (b.kind, tuple(b.members), b.remote):
            return False
        self._pairs[left], self._back[right] = right, left
        if self.match(a.parent, b.parent):
            return True
        del self._pairs[left], self._back[right]
        return False
