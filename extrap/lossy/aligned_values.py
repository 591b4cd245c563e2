"""The executions of one node of a rank's tree, as a sequence that can be compared with another rank's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scalatrace.extrap.fit.rank_tree import Local
from scalatrace.extrap.lossy.lcs import Forest, Seq

__all__ = ["Content", "content_of"]


@dataclass(frozen=True)
class Content:
    """A node as all its executions.

    Attributes:
        nodes: the tree, of a loop over all times it is met.
        calls: the number of each call in it, in order.
    """

    nodes: Seq
    calls: tuple[int, ...]


def content_of(
    local: Local, calls_of: Callable[[Local], Iterator[int]], forest: Forest, event: Callable[[int], int]
) -> Content:
    """All executions of a node.

    Args:
        calls_of: an event node's calls, in order.
        event: a call's node in the forest.
    """
    numbers: list[int] = []
    run = _runner(local, calls_of, forest, event, numbers)
    met = [run() for _ in range(local.met)]
    return Content((forest.loop(met),), tuple(numbers))


def _runner(
    local: Local,
    calls_of: Callable[[Local], Iterator[int]],
    forest: Forest,
    event: Callable[[int], int],
    numbers: list[int],
) -> Callable[[], Seq]:
    """What gives a node's content each time it is met."""
    repeats = iter(local.repeat)
    if local.event is not None:
        rest = calls_of(local)

        def execute() -> Seq:
            made = [next(rest) for _ in range(next(repeats))]
            numbers.extend(made)
            return tuple(map(event, made))

        return execute
    inner = [_runner(child, calls_of, forest, event, numbers) for child in local.children]

    def turn() -> Seq:
        turns = next(repeats)
        passes = [tuple(node for run in inner for node in run()) for _ in range(turns)]
        return (forest.loop(passes),) if passes else ()

    return turn
