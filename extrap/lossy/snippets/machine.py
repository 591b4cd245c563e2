"""The finite-state machine of snippets (Figure 3.7): which calls of a rank are accepted.

The machine starts in START. The first call of a snippet is pending, and so is each further expected call; the
last one leads to ACCEPT, and the pending calls are kept. Any other call leads to ERROR: the pending calls are
dropped, and the unexpected call is tried from START (the dissertation drops it as well). An unexpected
collective call is accepted by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from scalatrace.extrap.lossy.snippets.tree import Alternatives, CallPattern, CallSequence, Item, Snippet

__all__ = ["Accepted", "Edge", "Machine", "MachineRun"]

States = frozenset[int]
Letter = frozenset[int]
"""The numbers of those calls of all snippets that a call of the program fits."""


class Edge(NamedTuple):
    """A transition, for display."""

    source: str
    call: str
    target: str


@dataclass
class Machine:
    """States and transitions of some snippets, computed on demand.

    Attributes:
        tests: the calls that snippets name; a letter is a set of indices into it.
    """

    snippets: tuple[Snippet, ...]
    tests: list[CallPattern] = field(default_factory=list)
    _edges: list[list[tuple[int, int]]] = field(default_factory=list)  # state -> (test, state)
    _free: list[list[int]] = field(default_factory=list)  # state -> states without a call between
    _ends: dict[int, int] = field(default_factory=dict)  # last state -> snippet
    _moves: dict[tuple[States, Letter], States] = field(default_factory=dict)

    def __post_init__(self) -> None:
        starts = []
        for number, snippet in enumerate(self.snippets):
            first = self._state()
            self._ends[self._add(snippet.body, first)] = number
            starts.append(first)
        self.start = self._closed(starts)

    def _state(self) -> int:
        self._edges.append([])
        self._free.append([])
        return len(self._edges) - 1

    def _add(self, item: Item, begin: int) -> int:
        """States for an item from a state on; the last one."""
        if isinstance(item, CallPattern):
            end = self._state()
            if item not in self.tests:
                self.tests.append(item)
            self._edges[begin].append((self.tests.index(item), end))
            return end
        if isinstance(item, CallSequence):
            for part in item.items:
                begin = self._add(part, begin)
            return begin
        if isinstance(item, Alternatives):
            end = self._state()
            for part in item.choices:
                self._free[self._add(part, self._next(begin))].append(end)
            return end
        for _ in range(item.low):
            begin = self._add(item.item, begin)
        if item.high is None:
            again = self._next(begin)
            self._free[self._add(item.item, again)].append(again)
            return self._next(again)
        end = self._state()
        for _ in range(item.high - item.low):
            self._free[begin].append(end)
            begin = self._add(item.item, begin)
        self._free[begin].append(end)
        return end

    def _next(self, begin: int) -> int:
        """Return a new state that follows without a call."""
        state = self._state()
        self._free[begin].append(state)
        return state

    def _closed(self, states: list[int]) -> States:
        result, waiting = set(states), list(states)
        while waiting:
            for state in self._free[waiting.pop()]:
                if state not in result:
                    result.add(state)
                    waiting.append(state)
        return frozenset(result)

    def move(self, states: States, letter: Letter) -> States:
        """Return the states after a call; none if it is not expected."""
        key = states, letter
        if key not in self._moves:
            after = [end for state in states for test, end in self._edges[state] if test in letter]
            self._moves[key] = self._closed(after)
        return self._moves[key]

    def accepted(self, states: States) -> int | None:
        """Return the first snippet that is complete in these states."""
        return min((self._ends[state] for state in states if state in self._ends), default=None)

    def edges(self) -> Iterator[Edge]:
        """Yield the transitions, as if every call matched one of the named calls; others lead to ERROR."""
        names, waiting = {self.start: "START"}, [self.start]
        for states in waiting:
            for test, call in enumerate(self.tests):
                target = self.move(states, frozenset((test,)))
                if not target:
                    continue
                if target not in names:
                    end = self.accepted(target) is not None
                    names[target] = f"ACCEPT {len(names)}" if end else str(len(names))
                    waiting.append(target)
                yield Edge(names[states], str(call), names[target])


@dataclass
class Accepted:
    """Calls that one run through a snippet accepted."""

    snippet: int
    calls: list[int]


@dataclass
class MachineRun:
    """Execution of a machine on the calls of one rank.

    Attributes:
        accepted: what was accepted, in order.
        dropped: the calls that were not.
    """

    machine: Machine
    accepted: list[Accepted] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    _states: States = frozenset()
    _pending: list[int] = field(default_factory=list)
    _open: Accepted | None = None

    def feed(self, number: int, letter: Letter, collective: bool) -> None:
        """Process the next call."""
        after = self.machine.move(self._states, letter)
        if not after:
            self.end()
            after = self.machine.move(self.machine.start, letter)
        if not after:
            if not collective:
                self.dropped.append(number)
            return
        self._states = after
        self._pending.append(number)
        snippet = self.machine.accepted(after)
        if snippet is None:
            return
        if self._open is None:
            self._open = Accepted(snippet, [])
            self.accepted.append(self._open)
        self._open.calls += self._pending
        self._pending = []

    def end(self) -> None:
        """Finish the run: no further call continues what has begun."""
        self.dropped += self._pending
        self._pending, self._open, self._states = [], None, frozenset()
