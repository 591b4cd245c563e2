"""The loops with most of the time, from the main loop inwards, as a sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from scalatrace.report.costs.rows import short_site_text
from scalatrace.report.page.patterns import LoopPattern
from scalatrace.report.page.tree import PageTree, TreeNode
from scalatrace.report.page.visits import CallVisits, outermost_different
from scalatrace.report.style import coarse_percent, number
from scalatrace.trace.model.callsite import Stack, callers, split_frame
from scalatrace.trace.model.nodes import Node, Sequence, events, node_numbers
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import entries, participants

__all__ = ["main_loops_of", "main_pattern_of"]

MIN_SHARE = 0.5
"""Part of all time that a loop takes at least."""

NAMES = ("Main loop", "Loop in it", "Loop in that")
"""Of the loops, from the main loop inwards."""


@dataclass(frozen=True)
class _SourceLoop:
    """A loop of the source that a loop of the trace belongs to.

    Attributes:
        node: the loop of the trace.
        within: frames around the function with the loop, outermost first.
        function: that function; "": not known.
        inside: visits of each call in it, in the loop of the trace.
        recorded: iterations of the loop of the trace, in the whole run.
        iterations: iterations of the loop of the source: visits of a call that each iteration makes once.
    """

    node: TreeNode
    within: Stack
    function: str
    inside: dict[str, int]
    recorded: int
    iterations: int


def main_loops_of(trace: Trace, tree: PageTree) -> str:
    """Return iterations, place and share of the time of the main loop, and of the loops in it; "": none.

    A loop counts if it has at least half of the time of all ranks, in MPI and computing. Loops of the trace
    that are iterations of one loop of the source count as one.
    """
    whole_ns = _time_ns(tree.root)
    loops: list[TreeNode] = []
    inner = _longest_loop(tree.root, whole_ns)
    while inner is not None and len(loops) < len(NAMES):
        loops.append(inner)
        inner = _longest_loop(inner, whole_ns)
    texts = [
        f"{text} ({coarse_percent(_time_ns(node) / whole_ns)} of the time{note})"
        for node, text, note in _join_iterations(list(_source_loops(trace, loops)))
    ]
    return " ".join(f"{name}: {text}." for name, text in zip(NAMES, texts, strict=False))


def main_pattern_of(tree: PageTree) -> LoopPattern | None:
    """Return the pattern of which all loops together have most time in their calls; None: no loop has one."""
    times_ns = defaultdict[tuple[str, str], float](float)
    longest: dict[tuple[str, str], tuple[float, LoopPattern]] = {}
    for node in _nodes(tree.root):
        if (pattern := node.pattern) is None:
            continue
        calls = [node] if pattern.nested else [child for child in node.children if child.op]
        time_ns, kind = sum(map(_time_ns, calls)), (pattern.kind, pattern.detail)
        times_ns[kind] += time_ns
        longest[kind] = max(longest.get(kind, (-1.0, pattern)), (time_ns, pattern), key=lambda each: each[0])
    return longest[max(times_ns, key=lambda kind: times_ns[kind])][1] if times_ns else None


def _nodes(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _longest_loop(node: TreeNode, whole_ns: float) -> TreeNode | None:
    longest = max(_loops(node), key=_time_ns, default=None)
    return longest if longest is not None and 0 < MIN_SHARE * whole_ns <= _time_ns(longest) else None


def _loops(node: TreeNode) -> Iterator[TreeNode]:
    """Yield the outermost loops in a node; what runs once, such as the calls of a thread, is no loop."""
    for child in node.children:
        if child.op or child.number < 0:
            continue
        if child.times:
            yield child
        else:
            yield from _loops(child)


def _join_iterations(loops: list[_SourceLoop]) -> Iterator[tuple[TreeNode, str, str]]:
    """Yield the loop of the trace, iterations and place, and a note, of each loop of the source."""
    at = 0
    while at < len(loops):
        first = last = loops[at]
        while at + 1 < len(loops) and _is_same_loop(last, loops[at + 1]):
            at += 1
            last = loops[at]
        yield first.node, *_texts(first, last)
        at += 1


def _is_same_loop(outer: _SourceLoop, inner: _SourceLoop) -> bool:
    """Return whether a loop and one in it are iterations of one loop: a call of that is beside it, too."""
    return outer.within == inner.within and any(
        visits > inner.inside.get(frame, visits) for frame, visits in outer.inside.items()
    )


def _texts(first: _SourceLoop, last: _SourceLoop) -> tuple[str, str]:
    node = first.node
    site = f" of calls at {short_site_text(node.place)}" if node.place else ""
    place = site or (f" in {first.function}" if first.function else "")
    is_joined = first is not last
    if last.iterations > last.recorded or is_joined:
        times = f"{number(last.iterations)} iterations"
        note = (
            "; they differ, and are several loops of the trace"
            if is_joined
            else f"; {number(last.recorded)} of them are a loop of the trace"
        )
    else:
        in_all = f"{node.in_all} iterations in all{',' if place else ''}"
        times, note = in_all if node.in_all else f"{node.times} iterations", ""
    return times + place, note


def _source_loops(trace: Trace, loops: list[TreeNode]) -> Iterator[_SourceLoop]:
    if not loops:
        return
    numbers = {number: key for key, number in node_numbers(trace.nodes).items()}
    taking_part = participants(trace)
    nodes = {id(node): node for node, _ in entries(trace)}
    for loop in loops:
        key = numbers[loop.number]
        ranks = taking_part[key]
        yield _source_loop(trace, loop, nodes[key], next(iter(ranks)))


def _source_loop(trace: Trace, loop: TreeNode, node: Node, rank: int) -> _SourceLoop:
    stacks = [trace.stack(signature) for signature in {event.signature for event in events([node])}]
    frames, outer_frames = outermost_different([callers(stack, len(stack))[::-1] for stack in stacks])
    functions = {split_frame(frame).name for frame in frames}
    function = functions.pop() if len(functions) == 1 else ""
    within = outer_frames[::-1]
    if not loop.iterations or not isinstance(node, Sequence):
        return _SourceLoop(loop, within, function, {}, 0, 0)
    visits = CallVisits(trace, rank, within)
    inside, whole = visits.count(node.nodes, loop.iterations), visits.count(trace.nodes, 1)
    once = [frame for frame, times in inside.items() if times == loop.iterations]
    iterations = max((whole[frame] for frame in once), default=loop.iterations)
    return _SourceLoop(loop, within, function, inside, loop.iterations, iterations)


def _time_ns(node: TreeNode) -> float:
    return node.comm_ns + node.compute_ns
