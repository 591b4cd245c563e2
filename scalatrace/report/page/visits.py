"""Count how often a rank comes to the calls in a function: the iterations of a loop in the source.

A loop of the source whose iterations differ, such as a time step that sometimes rebuilds neighbour lists, is
several loops and single nodes in a trace. A call in it is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from itertools import groupby
from typing import NamedTuple

from scalatrace.trace.model import elastic
from scalatrace.trace.model.callsite import Stack, callers
from scalatrace.trace.model.nodes import Event, Node, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import runs

__all__ = ["CallVisits", "outermost_different"]

MAX_VALUES = 1 << 20
"""Trip counts of a node that are examined one by one; with more, each entry counts as a visit."""


def outermost_different(stacks: AnySequence[Stack]) -> tuple[Stack, Stack]:
    """Return the outermost frames that are not all equal, of stacks from the outermost frame on.

    Returns:
        Them, and the frames around them, innermost first.
    """
    levels = list(zip(*stacks, strict=False))
    if not levels:
        return (), ()
    at = next((i for i, frames in enumerate(levels) if len(set(frames)) > 1), len(levels) - 1)
    return levels[at], stacks[0][:at][::-1]


class _Visit(NamedTuple):
    frame: str
    signature: int
    times: int


class CallVisits:
    """The visits of one rank to the calls in a function, each with all MPI calls below it.

    Args:
        within: frames of the callers of the function, outermost first.
    """

    def __init__(self, trace: Trace, rank: int, within: Stack) -> None:
        self._rank, self._within = rank, within
        stacks = {leaf.signature: trace.stack(leaf.signature) for leaf in trace.leaves()}
        self._frames = {signature: self._frame(stack) for signature, stack in stacks.items()}
        self._only: dict[int, str | None] = {}  # of a node: the frame of all calls in it
        for node in trace.nodes:
            self._find_only(node)

    def count(self, nodes: AnySequence[Node], times: int) -> dict[str, int]:
        """Return the visits of each frame in nodes that run `times` times, in the order of the nodes.

        Calls that follow each other below the same frame are one visit. Other functions have no frame here.
        """
        by_call: dict[tuple[str, int], int] = {}
        for frame, signature, visits in self._visits(nodes, times):
            by_call[frame, signature] = by_call.get((frame, signature), 0) + visits
        by_frame: dict[str, int] = {}
        for (frame, _), visits in by_call.items():
            by_frame[frame] = max(by_frame.get(frame, 0), visits)  # some calls are not in each visit
        return by_frame

    def _frame(self, stack: Stack) -> str:
        """Return the frame of a call in the function; "" of a call in another one."""
        outermost_first = callers(stack, len(stack))[::-1]
        level = len(self._within)
        is_below = len(outermost_first) > level and outermost_first[:level] == self._within
        return outermost_first[level] if is_below else ""

    def _find_only(self, node: Node) -> str | None:
        if isinstance(node, Event):
            only: str | None = self._frames[node.signature]
        else:
            frames = {self._find_only(child) for child in node.nodes}
            only = frames.pop() if len(frames) == 1 else None
        self._only[id(node)] = only
        return only

    def _visits(self, nodes: AnySequence[Node], times: int) -> Iterator[_Visit]:
        taken = [node for node in nodes if self._is_entered(node, times)]
        for frame, group in groupby(taken, lambda node: self._only[id(node)]):
            if frame is None:
                for node in group:
                    yield from self._visits(node.nodes, runs(node.repeat, self._rank, times))  # type: ignore[union-attr]
            elif frame:
                most: dict[int, int] = {}
                for node in group:
                    visits = self._nonzero(node, times)
                    for signature in _signatures(node):
                        most[signature] = max(most.get(signature, 0), visits)
                yield from (_Visit(frame, signature, visits) for signature, visits in most.items())

    def _is_entered(self, node: Node, times: int) -> bool:
        return times > 0 and runs(node.repeat, self._rank, times) > 0

    def _nonzero(self, node: Node, times: int) -> int:
        """Return in how many of so many entries a node runs."""
        vec = elastic.at(node.repeat, self._rank)
        if vec is None:
            return 0
        if vec.constant is not None or times > MAX_VALUES:
            return times if vec.constant != 0 else 0
        return sum(value > 0 for value in vec.first(times))


def _signatures(node: Node) -> set[int]:
    if isinstance(node, Event):
        return {node.signature}
    return set().union(*map(_signatures, node.nodes)) if isinstance(node, Sequence) else set()
