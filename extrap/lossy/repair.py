"""Repair the partners of dropped calls so that the trace can be replayed (§3.2.4).

A message without its other end is dropped. Half of a Sendrecv goes to MPI_PROC_NULL, so that the other half
stays. A collective call stays for all members or for none. A request that no call completes is dropped, and a
Wait waits for the requests that remain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scalatrace.escapes import clean
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.lossy.calls import Calls, Marks, Reason, droppable
from scalatrace.extrap.lossy.links import Links
from scalatrace.operations import Category, operation

__all__ = ["Repair", "Saved"]

Saved = tuple[Marks, dict[int, set[str]]]
"""The marks of calls, and the halves that are nulled."""


@dataclass
class Repair:
    """Repairs after drops in one trace.

    Attributes:
        calls: with the marks.
        links: what depends on what.
        nulled: halves of Sendrecv whose partner is gone: call -> parameters that become MPI_PROC_NULL.
    """

    calls: Calls
    links: Links
    nulled: dict[int, set[str]] = field(default_factory=dict)

    def saved(self) -> Saved:
        """Return a copy of the marks of dropped calls, to restore them later."""
        nulled = {number: set(peers) for number, peers in self.nulled.items()}
        return self.calls.marks.copy(), nulled

    def back_to(self, saved: Saved) -> None:
        """Take back what was dropped since then."""
        marks, nulled = saved
        self.calls.marks[:] = marks
        self.nulled = {number: set(peers) for number, peers in nulled.items()}

    def drop(self, numbers: Iterable[int], reason: Reason) -> int:
        """Drop calls and, as repairs, what cannot be without them; returns how many are gone by that.

        Raises:
            ExtrapolationError: one of them makes what later calls refer to.
        """
        return self.drop_all([(numbers, reason)])

    def drop_all(self, chosen: Iterable[tuple[Iterable[int], Reason]]) -> int:
        """Drop calls for several reasons at once; the rest as `drop`."""
        waiting: list[int] = []
        for numbers, reason in chosen:
            waiting += (number for number in numbers if self._marked(number, reason))
        gone = 0
        while waiting:
            gone += 1
            dependent = self._dependent(waiting.pop())
            waiting += (number for number in dependent if self._marked(number, Reason.REPAIR))
        return gone

    def _marked(self, number: int, reason: Reason) -> bool:
        """Mark a call; False when it is gone already."""
        if self.calls.marks[number]:
            return False
        self._droppable(number)
        self.calls.marks[number] = reason
        return True

    def _droppable(self, number: int) -> None:
        call = self.calls.calls[number]
        if not droppable(call.op):
            raise ExtrapolationError(
                f"{call.op} at {clean(call.site) or '(no call site)'} follows no rule, and cannot be "
                "dropped: later calls refer to what it makes"
            )

    def _dependent(self, number: int) -> list[int]:
        links = self.links
        result = [partner for partner, peer in links.messages.get(number, ()) if self._lost(partner, peer)]
        for group in links.group_of.get(number, ()):
            result += links.groups[group]
        result += links.uses.get(number, ())
        result += [
            user
            for user in links.users.get(number, ())
            if all(self.calls.marks[maker] for maker in links.uses[user])
        ]
        return result

    def _lost(self, number: int, peer: str) -> bool:
        """Return whether a call whose partner is gone goes too."""
        op = operation(self.calls.calls[number].op)
        if op.category is not Category.SENDRECV or op.nonblocking:
            return True
        nulled = self.nulled.setdefault(number, set())
        nulled.add(peer)
        return self._both_null(number, nulled)

    def _both_null(self, number: int, nulled: set[str]) -> bool:
        call = self.calls.calls[number]
        return all(name in nulled or call.raw(name) < 0 for name in operation(call.op).peers)
