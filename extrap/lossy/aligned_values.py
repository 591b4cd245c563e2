"""The executions of one node of a rank's tree as a sequence, for comparison across ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scalatrace.extrap.alignment.rank_tree import RankNode
from scalatrace.extrap.lossy.lcs import Forest, Seq

__all__ = ["Content", "content_of"]


@dataclass(frozen=True)
class Content:
    """A node as the sequence of its executions.

    Attributes:
        nodes: the tree, of a loop over all its entries.
        calls: the number of each call in it, in order.
    """

    nodes: Seq
    calls: tuple[int, ...]


def content_of(
    local: RankNode,
    calls_of: Callable[[RankNode], Iterator[int]],
    forest: Forest,
    event: Callable[[int], int],
) -> Content:
    """Return all executions of a node.

    Args:
        calls_of: an event node's calls, in order.
        event: a call's node in the forest.
    """
    numbers: list[int] = []
    run = _runner(local, calls_of, forest, event, numbers)
    executions = [run() for _ in range(local.entry_count)]
    return Content((forest.loop(executions),), tuple(numbers))


def _runner(
    local: RankNode,
    calls_of: Callable[[RankNode], Iterator[int]],
    forest: Forest,
    event: Callable[[int], int],
    numbers: list[int],
) -> Callable[[], Seq]:
    """Return a function that returns the content of a node at each entry."""
    repeats = iter(local.repeat)
    if local.event is not None:
        rest = calls_of(local)

        def execute() -> Seq:
            calls = [next(rest) for _ in range(next(repeats))]
            numbers.extend(calls)
            return tuple(map(event, calls))

        return execute
    inner = [_runner(child, calls_of, forest, event, numbers) for child in local.children]

    def turn() -> Seq:
        turns = next(repeats)
        passes = [tuple(node for run in inner for node in run()) for _ in range(turns)]
        return (forest.loop(passes),) if passes else ()

    return turn
